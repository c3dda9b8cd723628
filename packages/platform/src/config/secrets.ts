// The secrets that a process knows from its environment and its configuration. None of them gets into a
// record, a request to a model, a line of the log or an error (core/src/secrets). Secrets are the keys, the
// passwords in the URLs of NATS and of models (a user without a password is a token, and a secret too), the
// variables to which an MCP server's `env` or `headers` refers, and literal values there. A variable of the
// environment is a secret if its name says so and its value looks random; a password in a URL always is.
// The value of a key may also be in a file that `<name>_FILE` names, as containers and systemd give secrets.
import { readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { BeaverError } from '@beaver/core'
import { isHideable, type KnownSecret } from '@beaver/core/secrets'
import { secretVariables } from './channels.ts'
import type { Config } from './config-file.ts'
import { sentToServer, variablesIn } from './mcp-server.ts'
import { inlineFallback } from './named-models.ts'
import { otlpHeaderValues } from './telemetry.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** The variables with keys and passwords that every process reads. */
export const keyVariables = [
  'OPENAI_API_KEY',
  'BEAVER_FALLBACK_API_KEY',
  'BEAVER_AUXILIARY_API_KEY',
  'BEAVER_EMBEDDINGS_API_KEY',
  'NATS_PASSWORD',
  'NATS_TOKEN',
] as const

const fileBytesMax = 64 * 1024

/**
 * The environment with the values of the files that `<name>_FILE` names. A variable that has a value of its
 * own keeps it.
 *
 * @param names the variables that may be in a file
 * @param cwd where relative paths start
 * @throws {BeaverError} `invalid_configuration` if a file cannot be read
 */
export function withSecretFiles(env: Environment, names: readonly string[], cwd: string): Environment {
  const read = names.flatMap((name) => {
    const path = env[`${name}_FILE`]
    return path && !env[name] ? [[name, secretInFile(`${name}_FILE`, resolve(cwd, path))]] : []
  })
  return { ...env, ...(Object.fromEntries(read) as Record<string, string>) }
}

function secretInFile(variable: string, path: string): string {
  const refused = (why: string, cause?: unknown): BeaverError =>
    new BeaverError('invalid_configuration', `The file ${path} of ${variable} ${why}.`, { cause })
  try {
    const found = statSync(path)
    if (!found.isFile()) throw refused('is no file')
    if (found.size > fileBytesMax) throw refused(`has more than ${fileBytesMax} bytes`)
    const value = readFileSync(path, 'utf8').replace(/\r?\n$/, '')
    if (value === '') throw refused('is empty')
    return value
  } catch (error) {
    if (error instanceof BeaverError) throw error
    throw refused(`cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`, error)
  }
}

const secretName =
  /(?:^|[_.-])(?:API_?KEYS?|KEYS?|TOKENS?|SECRETS?|PASSWORDS?|PASSWD|PASSPHRASE|CREDENTIALS?|DSN|PAT|SEED)(?:[_.-]?\d*|[_.-](?:ID|B64|BASE64|DEV|PROD|LIVE|TEST))$/i
/** Variables that the system sets, with values that are no secrets. */
const noSecrets = new Set(['GPG_KEY', 'SSH_AUTH_SOCK', 'GPG_TTY'])
const lengthMin = 8

/** @param env the environment from which `$NAME` is read */
export function secretsOf(config: Omit<Config, 'secrets'>, env: Environment): readonly KnownSecret[] {
  const { natsLogin, apiKey, apiKeys, model, models, modelKeys, endpoints } = config
  const urls: readonly (readonly [string, string | undefined])[] = [
    ['nats_url', config.nats_url],
    ['checkpoints.webhook', config.checkpoints.webhook],
    ['alerts.webhook', config.alerts.webhook],
    ['telemetry.traces.endpoint', config.telemetry.traces.endpoint],
    ['checkpoints.bucket.nats_url', config.checkpoints.bucket?.nats_url],
    ['model.base_url', model.base_url],
    ['model.fallback.base_url', inlineFallback(model)?.base_url],
    ['model.auxiliary.base_url', model.auxiliary?.base_url],
    ['model.embeddings.base_url', model.embeddings?.base_url],
    ...Object.entries(models).map(([name, { base_url }]) => [`models.${name}.base_url`, base_url] as const),
    ...Object.entries(endpoints).map(
      ([name, { base_url }]) => [`endpoints.${name}.base_url`, base_url] as const,
    ),
    ['web_search.url', config.web_search?.url],
    ...Object.entries(config.gateway.channels).map(
      ([name, of]) => [`gateway.channels.${name}.url`, 'url' in of ? of.url : undefined] as const,
    ),
    ...Object.entries(config.mcp).map(
      ([name, server]) => [`mcp.${name}.url`, 'url' in server ? server.url : undefined] as const,
    ),
  ]
  const all: readonly KnownSecret[] = [
    ...secretIn('NATS_PASSWORD', natsLogin.password),
    ...secretIn('NATS_TOKEN', natsLogin.token),
    ...secretIn('OPENAI_API_KEY', apiKey),
    ...otlpHeaderValues(env).flatMap(([name, value]) => secretIn(name, value)),
    ...secretIn('BEAVER_FALLBACK_API_KEY', apiKeys.fallback),
    ...secretIn('BEAVER_AUXILIARY_API_KEY', apiKeys.auxiliary),
    ...secretIn('BEAVER_EMBEDDINGS_API_KEY', apiKeys.embeddings),
    ...Object.entries(modelKeys).flatMap(([name, key]) => secretIn(name, key)),
    ...urls.flatMap(([name, url]) => (url ?? '').split(',').flatMap((each) => credentialsOf(name, each))),
    ...(config.alerts.secret_env === undefined
      ? []
      : secretIn(config.alerts.secret_env, config.alertsSecret)),
    ...Object.values(config.gateway.channels)
      .flatMap(secretVariables)
      .flatMap((name) => secretIn(name, env[name])),
    ...Object.entries(config.mcp).flatMap(([name, server]) =>
      secretsOfServer(name, sentToServer(server), env),
    ),
    ...Object.entries(env).flatMap(([name, value]) => secretsOfVariable(name, value ?? '')),
  ]
  // The first name of a value is the one that people know.
  return [...new Map(all.toReversed().map((secret) => [secret.value, secret])).values()].toReversed()
}

const secretIn = (name: string, value: string | null | undefined): KnownSecret[] =>
  // A header is sent without the space around it.
  value
    ? [...new Set([value, value.trim()])].flatMap((each) => (each === '' ? [] : [{ name, value: each }]))
    : []

function credentialsOf(name: string, url: string): KnownSecret[] {
  const parsed = URL.parse(url.trim())
  if (parsed === null) return []
  const { password, username } = parsed
  return secretIn(`${name}.password`, decoded(password === '' ? username : password))
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function secretsOfServer(
  server: string,
  values: ReturnType<typeof sentToServer>,
  env: Environment,
): KnownSecret[] {
  return values.flatMap(([name, value]) => {
    const variables = variablesIn(value).flatMap((variable) => secretIn(variable, env[variable]))
    const own = value.replace(/^(?:Bearer|Basic|Token)\s+/i, '')
    const isOwn =
      variables.length === 0 &&
      (secretName.test(name) || /^(?:authorization|cookie|x-api-key)$/i.test(name)) &&
      own.length >= lengthMin
    return isOwn ? [...variables, { name: `mcp.${server}.${name}`, value: own }] : variables
  })
}

function secretsOfVariable(name: string, value: string): KnownSecret[] {
  if (value.length < lengthMin || value.length > 16_384 || noSecrets.has(name)) return []
  if (/^[a-z][a-z0-9+.-]*:\/\/\S+$/i.test(value))
    return value.split(',').flatMap((url) => (URL.parse(url)?.password ? credentialsOf(name, url) : []))
  return secretName.test(name) && isHideable(value) && !/^(?:[/~.]|[A-Za-z]:\\)/.test(value)
    ? [{ name, value }]
    : []
}
