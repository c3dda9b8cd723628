// The operator's settings for one MCP server, and its address with each `$NAME` replaced from the
// environment. An unset variable is an error, so that a server never gets an empty secret.
import type { Permission } from '@beaver/agent'
import { BeaverError } from '@beaver/core'

interface OfEveryServer {
  /** The permission of its tools if no rule decides. */
  readonly permission: Permission
  /** Whether its results are the user's own text. Default: no, they are untrusted. */
  readonly trusted?: boolean
  /** Its tools that only read. Default: none. */
  readonly tools_that_read?: readonly string[]
  /** Use only these of its tools. Default: all. */
  readonly tools?: readonly string[] | undefined
  /** Whether agents can read its resources, or patterns of URIs. Default: yes, unless `tools` selects. */
  readonly resources?: boolean | readonly string[] | undefined
  /** Whether agents can read its prompts. Default: no. */
  readonly prompts?: boolean | undefined
  /** Whether it may ask a person during a call. Default: yes. */
  readonly elicitation?: boolean | undefined
  /** The longest time of one call. */
  readonly timeout_ms: number
  /** The most restarts within ten minutes. */
  readonly restarts_max: number
}

/** A program that speaks MCP on stdin and stdout. */
export interface McpProgramSpec extends OfEveryServer {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd?: string | undefined
  /** Whether it has a network in the sandbox. Default: yes. */
  readonly network?: boolean | undefined
  /** Folders that it may write in the sandbox, besides `cwd` and the folders in its arguments. */
  readonly writable?: readonly string[] | undefined
}

/** `oauth` of an MCP server, from the operator. Everything may be left out: then the servers say what is needed. */
export interface OAuthSettings {
  /** The client that was registered at the authorization server. Default: Beaver registers itself. */
  readonly client_id?: string | undefined
  /** Its secret. `$NAME` is read from the environment. */
  readonly client_secret?: string | undefined
  /** The authorization server that the client belongs to. Its secret goes to no other. */
  readonly issuer?: string | undefined
  /**
   * The https URL of a client metadata document, which is the id of the client at servers that support this.
   */
  readonly client_metadata_url?: string | undefined
  /** The scopes to ask for, with a space between them. Default: those that the server names. */
  readonly scope?: string | undefined
  /** The port of the redirect on 127.0.0.1. Default: a free one. */
  readonly redirect_port?: number | undefined
  /** `client_credentials`: the client itself logs in, without a person. Default: `authorization_code`. */
  readonly grant?: 'authorization_code' | 'client_credentials' | undefined
}

/** A server that speaks streamable HTTP. */
export interface McpHttpSpec extends OfEveryServer {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** How Beaver gets a token. `false`: never. Default: as the server says when it asks for one. */
  readonly oauth?: OAuthSettings | false | undefined
}

/** One entry of `mcp` in the configuration. */
export type McpServerSpec = McpProgramSpec | McpHttpSpec

export type Environment = Readonly<Record<string, string | undefined>>

/** The address of a server, with every variable replaced by its value. */
export type Address =
  | {
      readonly kind: 'program'
      readonly command: string
      readonly args: readonly string[]
      readonly env: Readonly<Record<string, string>>
      readonly cwd: string | undefined
    }
  | { readonly kind: 'http'; readonly url: string; readonly headers: Readonly<Record<string, string>> }

/** @throws {BeaverError} `invalid_configuration`, which names the unset variable */
export function addressOf(spec: McpServerSpec, environment: Environment): Address {
  const expanded = (values: Readonly<Record<string, string>>): Record<string, string> =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, expand(value, environment)]))
  if ('url' in spec) return { kind: 'http', url: spec.url, headers: expanded(spec.headers) }
  const inherited = Object.fromEntries(
    ['PATH', 'HOME'].flatMap((name) => (environment[name] === undefined ? [] : [[name, environment[name]]])),
  )
  return {
    kind: 'program',
    command: spec.command,
    args: spec.args,
    env: { ...inherited, ...expanded(spec.env) },
    cwd: spec.cwd,
  }
}

const references = /\$(?:\$|\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))/g

/**
 * Replaces `$NAME` and `${NAME}` by their values in the environment. `$$` is a dollar sign.
 *
 * @throws {BeaverError} `invalid_configuration`
 * @example expand('Bearer $TOKEN', { TOKEN: 'abc' }) // 'Bearer abc'
 */
export function expand(text: string, environment: Environment): string {
  return text.replace(references, (whole, braced: string | undefined, plain: string | undefined) => {
    if (whole === '$$') return '$'
    const name = braced ?? plain ?? ''
    const value = environment[name]
    if (value === undefined)
      throw new BeaverError(
        'invalid_configuration',
        `The environment variable ${name} is not set. Set it, and start the daemon again.`,
      )
    return value
  })
}
