// What an AgentService is made with, and the configuration that follows from it.
// O1. Read once, when the service is made: what is wrong is told there. O2. The options win over the environment, that over
//     beaver.config.json, that over the defaults; tools, skills, profiles and workflows are added to those of the file.
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { AgentProfileInput, ExternalTools, Tool } from '@beaver/agent'
import { type Logger, loggerOver } from '@beaver/core'
import { type Config, type ConfigFile, loadConfig } from '@beaver/platform'
import { defineProfile, defineWorkflow, type WorkflowInput } from './definitions.ts'
import { ownTools } from './own-tools.ts'

/** A path, relative to `workspace`, or a `file:` URL: `new URL('./tools.ts', import.meta.url)`. */
export type FilePlace = string | URL

export interface AgentServiceOptions {
  /** The folder for data. One service, or one `beaver up`, at a time. Default: BEAVER_HOME, else `.beaver` in `workspace`. */
  readonly home?: string
  /** A NATS server to use. Default: NATS_URL, else a nats-server of the service's own. */
  readonly natsUrl?: string
  /** The nats-server binary. Default: BEAVER_NATS_SERVER, else one on PATH, else the one of the set-up. */
  readonly natsServer?: string
  /** The folder agents work in, and where beaver.config.json is looked for. Default: the current folder. */
  readonly workspace?: string
  /** Keys as in beaver.config.json: `{ model: { name: 'gpt-5-mini' } }`. */
  readonly config?: ConfigFile
  /** Default: beaver.config.json in `workspace`, if it is there. */
  readonly configFile?: string
  /** Of the model's endpoint. Default: OPENAI_API_KEY. Without a key and `model.base_url` the simulated model answers. */
  readonly apiKey?: string
  /** What `defineTool` made runs in this process; a module is loaded into each worker thread. */
  readonly tools?: readonly (Tool | FilePlace)[]
  /** Folders with skills. */
  readonly skills?: readonly FilePlace[]
  /** What `defineProfile` made, or files. */
  readonly profiles?: readonly (AgentProfileInput | FilePlace)[]
  /** The profile of a task that names none. */
  readonly profile?: string
  /** What `defineWorkflow` made, or folders with definition files. */
  readonly workflows?: readonly (WorkflowInput | FilePlace)[]
  /** Decides about calls that need an approval. Without it they are refused, unless the task says otherwise. */
  readonly onApproval?: OnApproval
  /** Something a person should know. Default: `process.emitWarning`. */
  readonly onWarning?: (message: string) => void
  /** Takes what a daemon logs: each task's claim and end, restarts, outages. Default: what is an error goes to `onWarning`. */
  readonly logger?: Logger
  /** Whether this process keeps the read model: `query`, `session_search` and the audit need one somewhere. Default: true. */
  readonly projector?: boolean
  /** Default: `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

export interface ApprovalRequest {
  readonly task_id: string
  readonly run_id: string
  readonly call_id: string
  readonly tool_name: string
  /** What the call would act on. */
  readonly subject: string
  /** The rule that asks; `null`: the tool itself does. */
  readonly rule: string | null
}

/** `true` allows the call; `false`, or a reason that the model is told, denies it. */
export type OnApproval = (request: ApprovalRequest, signal: AbortSignal) => boolean | string | Promise<boolean | string>

/** The options, read. */
export interface Settings {
  readonly config: Config
  readonly profiles: readonly AgentProfileInput[]
  readonly workflows: readonly WorkflowInput[]
  readonly tools: ExternalTools
  readonly onApproval: OnApproval | null
  readonly projector: boolean
  /** The variable PATH. */
  readonly path: string | undefined
  readonly tell: (message: string) => void
  readonly logger: Logger
}

/** @throws {BeaverError} `invalid_configuration` */
export function readOptions(options: AgentServiceOptions): Settings {
  const env = options.env ?? process.env
  const workspace = resolve(options.workspace ?? '.')
  const { natsUrl: nats_url = options.config?.nats_url, profile = options.config?.profile } = options
  const set: ConfigFile = { ...options.config, ...(nats_url === undefined ? {} : { nats_url }), ...(profile === undefined ? {} : { profile }) }
  const config = loadConfig({ config: options.configFile, home: options.home, set }, env, workspace)
  const { tools = [], skills = [], profiles = [], workflows = [] } = options
  const files = (places: readonly unknown[]): string[] => places.filter(isPlace).map((place) => pathOf(place, workspace))
  const tell = options.onWarning ?? ((message: string) => process.emitWarning(message, 'BeaverService'))
  return {
    config: {
      ...config,
      apiKey: options.apiKey ?? config.apiKey,
      natsServerBinary: options.natsServer ?? config.natsServerBinary,
      tools: [...files(tools), ...config.tools],
      skills: [...files(skills), ...config.skills],
      profiles: [...files(profiles), ...config.profiles],
      workflows: [...files(workflows), ...config.workflows],
    },
    profiles: profiles.filter((each): each is AgentProfileInput => !isPlace(each)).map(defineProfile),
    workflows: workflows.filter((each): each is WorkflowInput => !isPlace(each)).map(defineWorkflow),
    tools: ownTools(tools.filter((each): each is Tool => !isPlace(each))),
    onApproval: options.onApproval ?? null,
    projector: options.projector ?? true,
    path: env['PATH'],
    tell,
    logger: options.logger ?? loggerOver(({ message }) => tell(message), 'error'),
  }
}

const isPlace = (value: unknown): value is FilePlace => typeof value === 'string' || value instanceof URL

const pathOf = (place: FilePlace, base: string): string => (place instanceof URL ? fileURLToPath(place) : resolve(base, place))
