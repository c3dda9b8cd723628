// The settings of the built-in tools and of the sandbox, as plain data for worker threads.
import type { SandboxMode, SandboxOptions } from '@beaver/agent/tool-kit'
import type { KnowledgeToolOptions } from './knowledge.ts'

export interface BuiltinToolOptions {
  /** Absolute paths that write_file protects: `always`, or `unlessAllowed` by a rule with a pattern. */
  readonly protected: { readonly always: readonly string[]; readonly unlessAllowed: readonly string[] }
  /** `null`: web_search is not offered. */
  readonly webSearch: { readonly url: string; readonly timeoutMs: number } | null
  readonly webFetch: {
    /** Hosts that may be fetched at a private address: `host` or `host:port`. */
    readonly privateHosts: readonly string[]
    /** The limit of a page, unpacked. */
    readonly bytesMax: number
    /** The limit of a call, including redirects and conversion. */
    readonly timeoutMs: number
  }
  /** If it is not enabled, run_command is not offered. */
  readonly runCommand: {
    readonly enabled: boolean
    readonly timeoutMs: number
    readonly outputBytesMax: number
    /** The most bytes of `/tmp` and of `/dev/shm` in a sandbox, each. */
    readonly tmpBytesMax: number
    /** Commands with a network in a sandbox: patterns that hold as those of rules that allow. */
    readonly network: readonly string[]
  }
  /** Confines commands, and the processes of your own tools. */
  readonly sandbox: SandboxOptions
  /** Each is a tool. */
  readonly knowledgeBases: readonly KnowledgeToolOptions[]
}

/** The values of an empty configuration. */
export const defaultBuiltinToolOptions: BuiltinToolOptions = {
  protected: { always: [], unlessAllowed: [] },
  webSearch: null,
  webFetch: { privateHosts: [], bytesMax: 2_097_152, timeoutMs: 20_000 },
  runCommand: {
    enabled: false,
    timeoutMs: 30_000,
    outputBytesMax: 65_536,
    tmpBytesMax: 67_108_864,
    network: [],
  },
  sandbox: { mode: 'auto', hidden: [], readable: [] },
  knowledgeBases: [],
}

/** The keys of the configuration for built-in tools. */
export interface BuiltinToolConfig {
  readonly file?: string | null | undefined
  readonly tools?: readonly string[] | undefined
  readonly skills?: readonly string[] | undefined
  readonly workflows?: readonly string[] | undefined
  readonly profiles?: readonly string[] | undefined
  readonly web_search?: { readonly url: string; readonly timeout_ms: number } | undefined
  readonly web_fetch: {
    readonly private_hosts: readonly string[]
    readonly bytes_max: number
    readonly timeout_ms: number
  }
  readonly run_command: {
    readonly enabled: boolean
    readonly timeout_ms: number
    readonly output_bytes_max: number
    readonly tmp_bytes_max?: number | undefined
    readonly network?: readonly string[] | undefined
  }
  readonly sandbox?: SandboxMode | undefined
  readonly sandbox_readable?: readonly string[] | undefined
  readonly knowledge_bases?:
    | Readonly<
        Record<string, { readonly folder: string; readonly description: string; readonly untrusted: boolean }>
      >
    | undefined
  /** Beaver's home and the folder of its keys, which no tool opens and no confined program sees. */
  readonly home?: string | undefined
  readonly keysFolder?: string | undefined
}

export function builtinToolOptions({
  web_search,
  web_fetch,
  run_command,
  sandbox = 'auto',
  sandbox_readable = [],
  knowledge_bases = {},
  home,
  keysFolder,
  file = null,
  tools = [],
  skills = [],
  workflows = [],
  profiles = [],
}: BuiltinToolConfig): BuiltinToolOptions {
  const hidden = [home, keysFolder].filter((folder) => folder !== undefined)
  return {
    protected: {
      always: [...hidden, ...(file === null ? [] : [file]), ...tools],
      unlessAllowed: [...skills, ...workflows, ...profiles],
    },
    webSearch: web_search === undefined ? null : { url: web_search.url, timeoutMs: web_search.timeout_ms },
    webFetch: {
      privateHosts: web_fetch.private_hosts,
      bytesMax: web_fetch.bytes_max,
      timeoutMs: web_fetch.timeout_ms,
    },
    runCommand: {
      enabled: run_command.enabled,
      timeoutMs: run_command.timeout_ms,
      outputBytesMax: run_command.output_bytes_max,
      tmpBytesMax: run_command.tmp_bytes_max ?? defaultBuiltinToolOptions.runCommand.tmpBytesMax,
      network: run_command.network ?? [],
    },
    sandbox: { mode: sandbox, hidden, readable: sandbox_readable },
    knowledgeBases: Object.entries(knowledge_bases).map(([id, { folder, description, untrusted }]) => ({
      id,
      description: sentence(description),
      untrusted,
      folder,
    })),
  }
}

/** A person's description may lack its full stop. */
const sentence = (text: string): string => (/[.!?。！？]$/.test(text) ? text : `${text}.`)
