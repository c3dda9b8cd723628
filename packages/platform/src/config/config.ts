// The configuration: flags come before the environment, the environment before beaver.config.json, and that
// file before the defaults. Only the composition roots read it, once. Every problem is reported with its path
// and with the origin of the value. A message never contains a secret. What a file that was only found asks
// for beyond safe settings counts if its folder is trusted, and not otherwise (docs/how-to/trust-folders.md).
import { join, resolve } from 'node:path'
import { BeaverError, problemsOf } from '@beaver/core'
import { isForeignHome } from '../home/home-origin.ts'
import { judgeFolder } from '../trust/folder-trust.ts'
import { secretVariables } from './channels.ts'
import { type Config, type ConfigFile, configFile } from './config-file.ts'
import { readConfigFile } from './found-file.ts'
import { resolvedBases } from './knowledge-base.ts'
import { managedMcpServers, sentToServer, variablesIn } from './mcp-server.ts'
import { allModels, type BroughtModels, checkRoutes } from './named-models.ts'
import { natsLoginOf } from './nats-login.ts'
import { pricesFileName } from './prices.ts'
import { keyVariables, secretsOf, withSecretFiles } from './secrets.ts'
import { propagates, tracesOf } from './telemetry.ts'
import { rootsOf } from './workspace-roots.ts'

/** Settings of the command line or of a program that embeds Beaver. They come before all other sources. */
export interface ConfigFlags {
  readonly config?: string | undefined
  readonly natsUrl?: string | undefined
  readonly home?: string | undefined
  /**
   * Keys of the file that a program sets. They come before the environment. A list replaces the file's list.
   * Paths are relative to `cwd`.
   */
  readonly set?: ConfigFile | undefined
  /** The models that a program brings besides those of the file. Routes may name them. */
  readonly models?: BroughtModels | undefined
  /**
   * `true`: the folder is trusted, `false`: it is not. Default: BEAVER_TRUST, or else what the user accepted.
   */
  readonly trust?: boolean | undefined
  /**
   * The path of a program that embeds Beaver. A configuration file beside it is as trusted as the program.
   */
  readonly program?: string | undefined
}

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Environment variables and the keys that they set. API keys, BEAVER_CONFIG, BEAVER_HOME, BEAVER_KEYS,
 * BEAVER_NATS_SERVER and BEAVER_TRUST have no key in the file.
 */
export const variables: readonly {
  name: string
  path: readonly [string] | readonly [string, string]
  number?: true
}[] = [
  { name: 'NATS_URL', path: ['nats_url'] },
  { name: 'BEAVER_NAMESPACE', path: ['namespace'] },
  { name: 'BEAVER_TENANT', path: ['tenant'] },
  { name: 'OPENAI_BASE_URL', path: ['model', 'base_url'] },
  { name: 'BEAVER_MODEL', path: ['model', 'name'] },
  { name: 'BEAVER_MODEL_TIMEOUT_MS', path: ['model', 'timeout_ms'], number: true },
  { name: 'BEAVER_PROVIDER_OUTAGE_MS_MAX', path: ['provider_outage_ms_max'], number: true },
  { name: 'BEAVER_PROVIDER_LIMIT_MS_MAX', path: ['provider_limit_ms_max'], number: true },
  { name: 'BEAVER_WORKER_THREADS', path: ['daemon', 'worker_threads'], number: true },
  { name: 'BEAVER_TASKS_MAX', path: ['daemon', 'tasks_max'], number: true },
  { name: 'BEAVER_LEASE_MS', path: ['daemon', 'lease_ms'], number: true },
  { name: 'BEAVER_DRAIN_MS', path: ['daemon', 'drain_ms'], number: true },
  { name: 'BEAVER_LOG', path: ['log', 'level'] },
  { name: 'BEAVER_STATUS_LISTEN', path: ['status', 'listen'] },
]

/**
 * Loads the configuration of this process. `beaver.config.json` is looked for in `cwd`. Relative paths in the
 * file start at the file's folder, other relative paths at `cwd`.
 * @throws {BeaverError} `invalid_configuration` with every problem
 */
export function loadConfig(
  flags: ConfigFlags = {},
  env: Environment = process.env,
  cwd = process.cwd(),
): Config {
  const found = readConfigFile(flags, env, cwd)
  const { file } = found
  const { trust, content } = judgeFolder({
    ...found,
    overridden: overriddenBy(flags, env),
    env,
    told: flags.trust,
    program: flags.program,
  })
  const merged = structuredClone(content) as Record<string, unknown>
  const origins = new Map<string, string>()
  for (const { name, path, number } of variables) {
    const value = env[name]
    if (value === undefined || value === '') continue
    put(merged, path, number === true && Number.isFinite(Number(value)) ? Number(value) : value)
    origins.set(path.join('.'), `the environment variable ${name}`)
  }
  overlay(merged, flags.set ?? {}, (path) => origins.set(path, 'the program'))
  if (flags.natsUrl !== undefined) {
    merged['nats_url'] = flags.natsUrl
    origins.set('nats_url', 'the option --nats-url')
  }
  const parsed = configFile
    .superRefine((content, context) => checkRoutes(content, context, flags.models))
    .safeParse(merged)
  if (!parsed.success) {
    const problems = problemsOf(parsed.error.issues, merged)
    const lines = problems.map(
      ({ path, message }) =>
        `${path === '' ? 'the configuration' : path}: ${message} (from ${origins.get(path) ?? file ?? 'the defaults'})`,
    )
    throw new BeaverError(
      'invalid_configuration',
      `The configuration is not valid:\n  ${lines.join('\n  ')}`,
      { problems },
    )
  }
  const base = file === null ? cwd : join(file, '..')
  const paths = (
    key: 'skills' | 'tools' | 'workflows' | 'profiles' | 'sandbox_readable' | 'workspace_roots',
  ): string[] => {
    return (parsed.data[key] ?? []).map((path) => resolve(flags.set?.[key] === undefined ? base : cwd, path))
  }
  const homeNamed = flags.home ?? (env['BEAVER_HOME'] || undefined)
  const home = resolve(cwd, homeNamed ?? '.beaver')
  const models = allModels(parsed.data)
  const { keyed, keys } = keysOf(parsed.data, models, env, cwd)
  const config: Omit<Config, 'secrets'> = {
    ...parsed.data,
    managedMcp: managedMcpServers,
    models,
    home,
    keysFolder: env['BEAVER_KEYS'] ? resolve(cwd, env['BEAVER_KEYS']) : join(home, 'keys'),
    pricesFile: resolve(
      flags.set?.prices_file === undefined ? base : cwd,
      parsed.data.prices_file ?? join(home, pricesFileName),
    ),
    foreignHome:
      flags.trust !== true &&
      env['BEAVER_TRUST'] !== '1' &&
      isForeignHome(home, { folder: cwd, named: homeNamed !== undefined, program: flags.program }),
    natsServerBinary: env['BEAVER_NATS_SERVER'] || null,
    ...keys,
    workspace: cwd,
    traces: tracesOf(parsed.data.telemetry.traces, env),
    propagatesTraces: propagates(parsed.data.telemetry.traces, env),
    checkpoints: withPath(
      parsed.data.checkpoints,
      'folder',
      flags.set?.checkpoints?.folder === undefined ? base : cwd,
    ),
    knowledge_bases: resolvedBases(parsed.data.knowledge_bases, (id) =>
      flags.set?.knowledge_bases?.[id] === undefined ? base : cwd,
    ),
    workspaceRoots: { ...rootsOf(parsed.data, { env, cwd, named: paths('workspace_roots') }), home },
    skills: paths('skills'),
    tools: paths('tools'),
    workflows: paths('workflows'),
    profiles: paths('profiles'),
    sandbox_readable: paths('sandbox_readable'),
    gateway: withPath(
      parsed.data.gateway,
      'workspace_root',
      flags.set?.gateway?.workspace_root === undefined ? base : cwd,
    ),
    file,
    trust,
  }
  return { ...config, secrets: secretsOf(config, keyed) }
}

/** The keys and secrets that the configuration names, and the environment with those of `<NAME>_FILE`. */
function keysOf(
  data: Pick<Config, 'gateway' | 'mcp' | 'alerts'>,
  models: Config['models'],
  env: Environment,
  cwd: string,
): {
  readonly keyed: Environment
  readonly keys: Pick<
    Config,
    'natsLogin' | 'apiKey' | 'apiKeys' | 'modelKeys' | 'channelSecrets' | 'mcpVariables' | 'alertsSecret'
  >
} {
  const modelNames = Object.values(models).flatMap(({ key }) => (key === undefined ? [] : [key]))
  const channelNames = Object.values(data.gateway.channels).flatMap(secretVariables)
  const mcpNames = Object.values(data.mcp)
    .flatMap(sentToServer)
    .flatMap(([, value]) => variablesIn(value))
  const { secret_env: alertName } = data.alerts
  const alertNames = alertName === undefined ? [] : [alertName]
  const names = [...keyVariables, ...modelNames, ...channelNames, ...mcpNames, ...alertNames]
  const keyed = withSecretFiles(env, names, cwd)
  return {
    keyed,
    keys: {
      natsLogin: natsLoginOf(keyed, cwd),
      apiKey: keyed['OPENAI_API_KEY'] || null,
      apiKeys: {
        fallback: keyed['BEAVER_FALLBACK_API_KEY'] || null,
        auxiliary: keyed['BEAVER_AUXILIARY_API_KEY'] || null,
        embeddings: keyed['BEAVER_EMBEDDINGS_API_KEY'] || null,
      },
      modelKeys: Object.fromEntries(modelNames.map((name) => [name, keyed[name] || null])),
      channelSecrets: Object.fromEntries(channelNames.map((name) => [name, keyed[name] || null])),
      mcpVariables: Object.fromEntries(mcpNames.map((name) => [name, keyed[name]])),
      alertsSecret: alertName === undefined ? null : keyed[alertName] || null,
    },
  }
}

/** The settings with a path that starts at `base`, if they have one. */
function withPath<Key extends string, Settings extends { readonly [key in Key]?: string | undefined }>(
  settings: Settings,
  key: Key,
  base: string,
): Settings {
  const path = settings[key]
  return path === undefined ? settings : { ...settings, [key]: resolve(base, path) }
}

/**
 * Whether a flag, a variable or the program gives a value for a key, so that the file's value is not used.
 * Groups are merged, so they never do.
 */
function overriddenBy(flags: ConfigFlags, env: Environment): (key: string) => boolean {
  const overridden = new Set(
    variables.filter(({ name }) => (env[name] ?? '') !== '').map(({ path }) => path.join('.')),
  )
  if (flags.natsUrl !== undefined) overridden.add('nats_url')
  const collect = (set: object, prefix: string): void => {
    for (const [key, value] of Object.entries(set) as [string, unknown][]) {
      if (isPlain(value)) collect(value, `${prefix}${key}.`)
      else if (value !== undefined) overridden.add(`${prefix}${key}`)
    }
  }
  collect(flags.set ?? {}, '')
  return (key) => overridden.has(key)
}

/** Merges `set` into `target`, object by object, and reports the path of each value. */
function overlay(target: Record<string, unknown>, set: object, tell: (path: string) => void): void {
  for (const [key, value] of Object.entries(set) as [string, unknown][]) {
    if (value === undefined) continue
    tell(key)
    if (!isPlain(value)) target[key] = structuredClone(value)
    else {
      const there = target[key]
      const into = (target[key] = isPlain(there) ? there : {}) as Record<string, unknown>
      overlay(into, value, (path) => tell(`${key}.${path}`))
    }
  }
}

const isPlain = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function put(target: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [first = '', ...rest] = path
  if (rest.length === 0) {
    target[first] = value
    return
  }
  const inner = target[first]
  if (inner !== undefined && (typeof inner !== 'object' || inner === null)) return // The schema reports this.
  put((target[first] ??= {}) as Record<string, unknown>, rest, value)
}
