// The command line of `pnpm conformance:models`. The names and the defaults are those of the configuration
// where it has the same. Pure. A key comes from a variable only. An option that looks like a key is refused,
// and no message repeats it. OPENAI_API_KEY is sent to the main endpoint only, as everywhere (D-73): to
// OpenAI, or to the address in OPENAI_BASE_URL.
import { parseArgs } from 'node:util'
import { messageOf } from '@beaver/core'
import { openAiBaseUrl } from '@beaver/providers/endpoint'
import type { AskedServer } from './run-probes.ts'

export interface Options {
  readonly server: AskedServer
  /** What the server is called. Default: its host. */
  readonly name: string | null
  readonly standIn: boolean
  /** The file for what the server said. `null`: none. */
  readonly write: string | null
  readonly json: boolean
  readonly stepMsMax: number
  readonly runMsMax: number
}

export const usageText = `Usage: pnpm conformance:models -- --base-url <url> --model <name> [options]

Asks a server of models what a team of agents needs, and says what it saw.

  --base-url <url>            default: OPENAI_BASE_URL, otherwise OpenAI
  --model <name>              default: BEAVER_MODEL, otherwise gpt-5-mini
  --protocol <name>           chat_completions (default) or responses
  --key-env <variable>        the variable that has the key; default:
                              OPENAI_API_KEY for the address above, else none
  --key-header <header>       default: Authorization: Bearer <key>
  --output-tokens-max <n>     the bound of an answer; default 1000. A model that
                              thinks needs more than one that does not
  --reasoning-effort <word>   default: the server decides
  --context-tokens <n>        the window of the model; default: not known
  --overflow-tokens-max <n>   the longest text that may be sent to see how the
                              server refuses it; default 10000, 0: none
  --name <name>               what the server is called, such as Ollama
  --write <file>              writes what the server said; needs --name
  --stand-in                  says in the file that this is no live model
  --step-timeout-ms <n>       the longest time of one request; default 30000
  --timeout-ms <n>            the longest time of all; default 120000
  --json                      prints JSON

Exit codes: 0 everything that a team needs was seen, 1 not, 2 wrong usage.`

type Env = Readonly<Record<string, string | undefined>>

/** A fault says what is wrong with the arguments. */
export function readOptions(
  args: readonly string[],
  env: Env,
): Options | { readonly fault: string } | { readonly help: true } {
  try {
    const { values } = parseArgs({ args: args[0] === '--' ? args.slice(1) : [...args], options: known })
    if (values.help === true) return { help: true }
    return optionsFrom(values, env)
  } catch (error) {
    return { fault: messageOf(error) }
  }
}

const text = { type: 'string' } as const
const flag = { type: 'boolean' } as const
const known = {
  ...{
    'base-url': text,
    model: text,
    protocol: text,
    'key-env': text,
    'key-header': text,
    name: text,
    write: text,
    'reasoning-effort': text,
  },
  ...{
    'output-tokens-max': text,
    'context-tokens': text,
    'overflow-tokens-max': text,
    'step-timeout-ms': text,
    'timeout-ms': text,
  },
  ...{ 'stand-in': flag, json: flag, help: flag },
} as const

type Values = {
  readonly [Name in keyof typeof known]?: (typeof known)[Name]['type'] extends 'boolean' ? boolean : string
}

function optionsFrom(values: Values, env: Env): Options {
  const main = given(env['OPENAI_BASE_URL']) ?? openAiBaseUrl
  const baseURL = urlIn(values['base-url'] ?? main)
  const protocol = values.protocol ?? 'chat_completions'
  if (protocol !== 'chat_completions' && protocol !== 'responses')
    throw new Error('--protocol is chat_completions or responses.')
  if (values.write !== undefined && values.name === undefined)
    throw new Error('--write needs --name, which says what the server is called.')
  const { key, keyName } = keyIn(values['key-env'], sameAddress(baseURL, main), env)
  const contextTokens =
    values['context-tokens'] === undefined ? null : count(values, 'context-tokens', 0, 1_000)
  const options: Options = {
    server: {
      ...{
        baseURL: sameAddress(baseURL, openAiBaseUrl) ? null : baseURL,
        protocol,
        keyHeader: values['key-header'] ?? null,
      },
      model: values.model ?? given(env['BEAVER_MODEL']) ?? 'gpt-5-mini',
      ...{ key, keyName },
      reasoningEffort: values['reasoning-effort'] ?? null,
      outputTokensMax: count(values, 'output-tokens-max', 1_000, 16),
      contextTokens,
      overflowTokensMax: count(values, 'overflow-tokens-max', 10_000, 0),
    },
    name: values.name ?? null,
    standIn: values['stand-in'] === true,
    write: values.write ?? null,
    json: values.json === true,
    stepMsMax: count(values, 'step-timeout-ms', 30_000, 100),
    runMsMax: count(values, 'timeout-ms', 120_000, 100),
  }
  if (key === null && sameAddress(baseURL, openAiBaseUrl))
    throw new Error('Say which server is asked: --base-url, or OPENAI_API_KEY for OpenAI.')
  return options
}

function keyIn(
  variable: string | undefined,
  isMain: boolean,
  env: Env,
): Pick<AskedServer, 'key' | 'keyName'> {
  if (variable === undefined)
    return { key: isMain ? given(env['OPENAI_API_KEY']) : null, keyName: 'OPENAI_API_KEY' }
  if (!/^[A-Z_][A-Z0-9_]{0,63}$/.test(variable))
    throw new Error('--key-env is the name of a variable, in capital letters. The key itself is no option.')
  const key = given(env[variable])
  if (key === null) throw new Error(`The variable ${variable} is not set.`)
  return { key, keyName: variable }
}

const given = (value: string | undefined): string | null =>
  value === undefined || value === '' ? null : value

function urlIn(value: string): string {
  const url = URL.parse(value)
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new Error('--base-url is an http or https URL, such as http://127.0.0.1:11434/v1.')
  return value.replace(/\/+$/, '')
}

const sameAddress = (a: string, b: string): boolean => a.replace(/\/+$/, '') === b.replace(/\/+$/, '')

function count(
  values: Values,
  name: 'context-tokens' | 'output-tokens-max' | 'overflow-tokens-max' | 'step-timeout-ms' | 'timeout-ms',
  or: number,
  min: number,
): number {
  const value = values[name]
  if (value === undefined) return or
  const number = /^\d{1,9}$/.test(value) ? Number(value) : Number.NaN
  if (!(number >= min)) throw new Error(`--${name} is a whole number from ${min} on.`)
  return number
}
