// The options of an AgentService, and the configuration that they produce. The constructor of the service
// reads them once, so that it reports a fault at once. Options win over the environment, the environment over
// beaver.config.json, and that file over the defaults. Tools, skills, profiles and workflows are added to
// those of the file.
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  type AgentProfileInput,
  type ChatProvider,
  type ExternalTools,
  rulesOf,
  type Tool,
} from '@beaver/agent'
import { BeaverError, type DataOf, type Logger, loggerOver, type LogLine } from '@beaver/core'
import type { Question, QuestionAnswer } from '@beaver/core/question'
import type { OwnModel, OwnModels } from '@beaver/daemon'
import { type Config, type ConfigFile, loadConfig, requireTrust } from '@beaver/platform'
import { defineProfile, defineWorkflow, type WorkflowInput } from './definitions.ts'
import { ownTools } from './own-tools.ts'

/** A path relative to `workspace`, or a `file:` URL such as `new URL('./tools.ts', import.meta.url)`. */
export type FilePlace = string | URL

/** The options of a service. All are optional. */
export interface AgentServiceOptions {
  /**
   * The folder for data. Only one service or one `beaver up` may use it at a time. Default: BEAVER_HOME,
   * otherwise `.beaver` in `workspace`.
   */
  readonly home?: string
  /** The URL of the NATS server. Default: NATS_URL, otherwise the service starts a nats-server. */
  readonly natsUrl?: string
  /**
   * The path of the nats-server binary. Default: BEAVER_NATS_SERVER, otherwise the binary on PATH, otherwise
   * the one that the set-up installed.
   */
  readonly natsServer?: string
  /**
   * The folder in which agents work and in which the service looks for beaver.config.json. Default: the
   * current folder.
   */
  readonly workspace?: string
  /** Settings with the keys of beaver.config.json, such as `{ model: { name: 'gpt-5-mini' } }`. */
  readonly config?: ConfigFile
  /** The path of the configuration file. Default: beaver.config.json in `workspace`, if it exists. */
  readonly configFile?: string
  /**
   * Whether a beaver.config.json found in `workspace` may bring code, servers, endpoints and permissions.
   * Default: yes if the file is beside the program or the user trusts the folder (`beaver trust`); otherwise
   * the constructor throws.
   */
  readonly trustWorkspace?: boolean
  /**
   * The API key for the model's endpoint. Default: OPENAI_API_KEY. Without a key and without
   * `model.base_url`, the simulated model answers.
   */
  readonly apiKey?: string
  /**
   * Models that run in this process, by the names that profiles, agents and routes use. They are added to the
   * models of the configuration. The name `main` replaces the main model of the configuration, which runs ask
   * if they name no model.
   */
  readonly models?: Readonly<Record<string, ChatProvider | OwnModel>>
  /** Tools. A tool from `defineTool` runs in this process. A module is loaded into each worker thread. */
  readonly tools?: readonly (Tool | FilePlace)[]
  /** Folders that contain skills. */
  readonly skills?: readonly FilePlace[]
  /** Profiles from `defineProfile`, or files of profiles. */
  readonly profiles?: readonly (AgentProfileInput | FilePlace)[]
  /** The profile of a task that names none. Default: the profile of the configuration. */
  readonly profile?: string
  /**
   * What each task and each node of a team may use, as `budgets` of the configuration. Default: those of the
   * configuration, or else 10 USD and 5,000,000 tokens for each task.
   */
  readonly budgets?: NonNullable<ConfigFile['budgets']>
  /** Workflows from `defineWorkflow`, or folders with definition files. */
  readonly workflows?: readonly (WorkflowInput | FilePlace)[]
  /**
   * Decides about calls that need an approval. Default: such calls are refused, unless the option `approvals`
   * of the task says otherwise.
   */
  readonly onApproval?: OnApproval
  /**
   * Answers the questions of agents and tools. Default: nobody answers, and agents continue without an
   * answer, unless the option `approvals` of the task says otherwise.
   */
  readonly onQuestion?: OnQuestion
  /** Receives messages for a person. Default: `process.emitWarning`. */
  readonly onWarning?: (message: string) => void
  /**
   * Receives the log of the daemon: the claim and the end of each task, restarts and outages. Default: errors
   * go to `onWarning`, and the rest is dropped.
   */
  readonly logger?: Logger
  /**
   * Whether this process maintains the read model. Queries, `session_search` and the audit need a process
   * that maintains it. Default: true.
   */
  readonly projector?: boolean
  /** The environment variables. Default: `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

/** A call that waits for an approval. */
export interface ApprovalRequest {
  readonly task_id: string
  readonly run_id: string
  readonly call_id: string
  readonly tool_name: string
  /** What the call acts on, such as a path. */
  readonly subject: string
  /** The permission rule that asks; `null` if the tool itself asks. */
  readonly rule: string | null
  /**
   * The hash of the call as it is shown here. The decision holds only for the call with this hash. Absent if
   * an older version of Beaver asked.
   */
  readonly call_hash?: string | undefined
  /** What the call would change. Absent if its tool gives no preview. */
  readonly preview?: DataOf<'approval_requested'>['preview']
}

/**
 * Decides about a call. `true` allows it. `{ arguments }` allows it with these arguments instead. `false`
 * denies it, and so does a text, which is the reason that the model reads. An error also denies it.
 *
 * @param signal aborts when the task ends or the service closes; the decision is then ignored
 */
export type OnApproval = (
  request: ApprovalRequest,
  signal: AbortSignal,
) => ApprovalAnswer | Promise<ApprovalAnswer>
/** A decision about a call, as OnApproval explains it. */
export type ApprovalAnswer = boolean | string | { readonly arguments: Readonly<Record<string, unknown>> }

/** A question that a running call asks. */
export interface QuestionRequest {
  readonly task_id: string
  readonly run_id: string
  readonly call_id: string
  readonly tool_name: string
  readonly question_index: number
  readonly question: Question
}

/**
 * Answers a question with a text or an option, with several of them, or with `{ action, answers, content }`.
 * `null` declines. An error, or an answer that does not fit the question, cancels the question.
 *
 * @param signal aborts when the task ends or the service closes; the answer is then ignored
 */
export type OnQuestion = (request: QuestionRequest, signal: AbortSignal) => GivenAnswer | Promise<GivenAnswer>
/** An answer to a question, as OnQuestion explains it. */
export type GivenAnswer = string | readonly string[] | QuestionAnswer | null

/** The options after they were read and checked. */
export interface Settings {
  readonly config: Config
  readonly profiles: readonly AgentProfileInput[]
  readonly workflows: readonly WorkflowInput[]
  readonly tools: ExternalTools
  readonly models: OwnModels
  readonly onApproval: OnApproval | null
  readonly onQuestion: OnQuestion | null
  readonly projector: boolean
  /** The environment variable PATH, in which the nats-server binary is searched. */
  readonly path: string | undefined
  readonly tell: (message: string) => void
  readonly logger: Logger
}

/**
 * Reads and checks the options.
 *
 * @throws {BeaverError} `invalid_configuration`
 */
export function readOptions(options: AgentServiceOptions): Settings {
  const env = options.env ?? process.env
  const workspace = resolve(options.workspace ?? '.')
  const { natsUrl: nats_url = options.config?.nats_url, profile = options.config?.profile } = options
  const { budgets = options.config?.budgets } = options
  const set: ConfigFile = {
    ...options.config,
    ...(budgets === undefined ? {} : { budgets }),
    ...(nats_url === undefined ? {} : { nats_url }),
    ...(profile === undefined ? {} : { profile }),
  }
  const { configFile, home, trustWorkspace: trust } = options
  const models = ownModels(options.models ?? {})
  const config = loadConfig(
    { config: configFile, home, set, models, trust, program: process.argv[1] },
    env,
    workspace,
  )
  requireTrust(config.trust, [
    'To use these settings, give the service the option trustWorkspace: true. To leave them out: false.',
  ])
  const { tools = [], skills = [], profiles = [], workflows = [] } = options
  const files = (places: readonly unknown[]): string[] =>
    places.filter(isPlace).map((place) => pathOf(place, workspace))
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
    tools: ownTools(
      tools.filter((each): each is Tool => !isPlace(each)),
      rulesOf(config.permissions),
    ),
    models,
    onApproval: options.onApproval ?? null,
    onQuestion: options.onQuestion ?? null,
    projector: options.projector ?? true,
    path: env['PATH'],
    tell,
    logger: options.logger ?? loggerOver((line) => tell(warningOf(line)), 'error'),
  }
}

/** A message of the log does not repeat what is in the fields, and a program that embeds Beaver gets no fields. */
function warningOf({ message, fields }: LogLine): string {
  const { stack: _stack, daemon: _daemon, ...facts } = fields
  const told = Object.entries(facts).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`],
  )
  return told.length === 0 ? message : `${message} (${told.join(', ')})`
}

const isPlace = (value: unknown): value is FilePlace => typeof value === 'string' || value instanceof URL

const pathOf = (place: FilePlace, base: string): string =>
  place instanceof URL ? fileURLToPath(place) : resolve(base, place)

// Reads the models of the embedding program from the option `models`. TypeScript does not protect a
// JavaScript program, so each model is checked here. `loadConfig` checks the names, together with those of
// the configuration.

/** @throws {BeaverError} `invalid_configuration` */
function ownModels(models: Readonly<Record<string, ChatProvider | OwnModel>>): OwnModels {
  return Object.fromEntries(
    Object.entries(models).map(([name, each]) => {
      const model: OwnModel = isProvider(each) ? { provider: each } : each
      const fault = faultOf(model)
      if (fault === null) return [name, model]
      const message = `The model ${JSON.stringify(name)} of the program ${fault}.`
      throw new BeaverError('invalid_configuration', message, {
        problems: [{ path: `models.${name}`, message }],
      })
    }),
  )
}

const isProvider = (value: ChatProvider | OwnModel): value is ChatProvider =>
  typeof value === 'object' && value !== null && 'chat' in value

function faultOf(model: OwnModel): string | null {
  const provider: Partial<ChatProvider> | null | undefined = model?.provider
  if (typeof provider !== 'object' || provider === null || typeof provider.chat !== 'function')
    return 'is neither a ChatProvider, which has a method chat, nor an object with one as its provider'
  if (!isName(provider.name)) return 'needs a name, which says who made it: a text of 1 to 100 characters'
  if (!isName(provider.model)) return 'needs the name of its model: a text of 1 to 100 characters'
  const { contextTokens, outputTokensMax } = provider
  const counts = { contextTokens, outputTokensMax, ...model }
  for (const [key, [least, most]] of Object.entries(bounds) as [
    keyof typeof bounds,
    readonly [number, number],
  ][]) {
    const value = counts[key]
    if (value !== undefined && !(Number.isSafeInteger(value) && value >= least && value <= most))
      return `has a ${key} that is no whole number from ${least} to ${most}`
  }
  return null
}

/** The least and the greatest value of each setting, as in the configuration. */
const bounds = {
  contextTokens: [1_000, 100_000_000],
  outputTokensMax: [1, 100_000_000],
  timeoutMs: [100, 3_600_000],
  idleMs: [100, 3_600_000],
  requestsPerMinuteMax: [1, 10_000_000],
  tokensPerMinuteMax: [1, 10_000_000_000],
} as const

const isName = (value: unknown): boolean =>
  typeof value === 'string' && value.trim() !== '' && value.length <= 100
