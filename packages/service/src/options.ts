// The options of an AgentService, and the configuration that follows from them. Options are read once, when
// the service is made, so that a fault is reported there. Options take precedence over the environment, the
// environment over beaver.config.json, and that over the defaults. Tools, skills, profiles and workflows are
// added to those of the file.
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { AgentProfileInput, ChatProvider, ExternalTools, Tool } from '@beaver/agent'
import {
  BeaverError,
  type DataOf,
  type Logger,
  loggerOver,
  type Question,
  type QuestionAnswer,
} from '@beaver/core'
import type { OwnModel, OwnModels } from '@beaver/daemon'
import { type Config, type ConfigFile, loadConfig, requireTrust } from '@beaver/platform'
import { defineProfile, defineWorkflow, type WorkflowInput } from './definitions.ts'
import { ownTools } from './own-tools.ts'

/** A path that is relative to `workspace`, or a `file:` URL: `new URL('./tools.ts', import.meta.url)`. */
export type FilePlace = string | URL

/** The options of a service. All are optional. */
export interface AgentServiceOptions {
  /**
   * The folder for data. One service or one `beaver up` at a time may use it. Default: BEAVER_HOME, otherwise
   * `.beaver` in `workspace`.
   */
  readonly home?: string
  /** The NATS server. Default: NATS_URL, otherwise a nats-server that the service starts. */
  readonly natsUrl?: string
  /**
   * The nats-server binary. Default: BEAVER_NATS_SERVER, otherwise the one on PATH, otherwise the one that
   * the set-up installed.
   */
  readonly natsServer?: string
  /**
   * The folder in which agents work, and in which beaver.config.json is looked for. Default: the current
   * folder.
   */
  readonly workspace?: string
  /** Settings with the keys of beaver.config.json: `{ model: { name: 'gpt-5-mini' } }`. */
  readonly config?: ConfigFile
  /** The configuration file. Default: beaver.config.json in `workspace`, if it exists. */
  readonly configFile?: string
  /**
   * Whether a beaver.config.json that is found in `workspace` may bring code, servers, endpoints and
   * permissions. Default: it may if it is beside the program, or if the user trusts the folder (`beaver
   * trust`); otherwise the service is refused.
   */
  readonly trustWorkspace?: boolean
  /**
   * The key of the model's endpoint. Default: OPENAI_API_KEY. Without a key and without `model.base_url`, the
   * simulated model answers.
   */
  readonly apiKey?: string
  /**
   * Models of this program, by the names that profiles, agents and routes give them, beside those of the
   * configuration. Their calls are made in this process. `main` is asked by runs that name no model, instead
   * of the model of the configuration.
   */
  readonly models?: Readonly<Record<string, ChatProvider | OwnModel>>
  /** Tools. A tool from `defineTool` runs in this process. A module is loaded into each worker thread. */
  readonly tools?: readonly (Tool | FilePlace)[]
  /** Folders with skills. */
  readonly skills?: readonly FilePlace[]
  /** Profiles from `defineProfile`, or files. */
  readonly profiles?: readonly (AgentProfileInput | FilePlace)[]
  /** The profile of a task that names none. Default: the one of the configuration. */
  readonly profile?: string
  /** Workflows from `defineWorkflow`, or folders with definition files. */
  readonly workflows?: readonly (WorkflowInput | FilePlace)[]
  /**
   * Decides about calls that need an approval. Default: such calls are refused, unless the task says
   * otherwise.
   */
  readonly onApproval?: OnApproval
  /**
   * Answers what agents and tools ask. Default: nobody answers, and agents go on without an answer, unless
   * the task says otherwise.
   */
  readonly onQuestion?: OnQuestion
  /** Gets messages that a person should read. Default: `process.emitWarning`. */
  readonly onWarning?: (message: string) => void
  /**
   * Gets what a daemon logs: the claim and the end of each task, restarts and outages. Default: errors go to
   * `onWarning`.
   */
  readonly logger?: Logger
  /**
   * Whether this process keeps the read model. Queries, `session_search` and the audit need one somewhere.
   * Default: true.
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
  /** What the call would act on, such as a path. */
  readonly subject: string
  /** The rule that asks; `null` if the tool itself asks. */
  readonly rule: string | null
  /**
   * The hash of what is shown. The decision is about the call with this hash. Absent: an older version asked.
   */
  readonly call_hash?: string | undefined
  /** What the call would change. Absent: its tool cannot say it. */
  readonly preview?: DataOf<'approval_requested'>['preview']
}

/**
 * Decides about a call. `true` allows it. `{ arguments }` allows it with these arguments instead. `false`, or
 * a reason for the model, denies it. If it throws, the call is denied.
 *
 * @param signal aborts when the task ends or the service closes; the decision is then not used
 */
export type OnApproval = (
  request: ApprovalRequest,
  signal: AbortSignal,
) => ApprovalAnswer | Promise<ApprovalAnswer>
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
 * Answers a question: a text or an option, several of them, or `{ action, answers, content }`; `null`
 * declines. An answer that does not fit the question counts as none, and so does an error.
 *
 * @param signal aborts when the task ends or the service closes; the answer is then not used
 */
export type OnQuestion = (request: QuestionRequest, signal: AbortSignal) => GivenAnswer | Promise<GivenAnswer>
export type GivenAnswer = string | readonly string[] | QuestionAnswer | null

/** The options after they were read. */
export interface Settings {
  readonly config: Config
  readonly profiles: readonly AgentProfileInput[]
  readonly workflows: readonly WorkflowInput[]
  readonly tools: ExternalTools
  readonly models: OwnModels
  readonly onApproval: OnApproval | null
  readonly onQuestion: OnQuestion | null
  readonly projector: boolean
  /** The environment variable PATH. */
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
  const set: ConfigFile = {
    ...options.config,
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
      config.permissions.rules,
    ),
    models,
    onApproval: options.onApproval ?? null,
    onQuestion: options.onQuestion ?? null,
    projector: options.projector ?? true,
    path: env['PATH'],
    tell,
    logger: options.logger ?? loggerOver(({ message }) => tell(message), 'error'),
  }
}

const isPlace = (value: unknown): value is FilePlace => typeof value === 'string' || value instanceof URL

const pathOf = (place: FilePlace, base: string): string =>
  place instanceof URL ? fileURLToPath(place) : resolve(base, place)

// The models of the embedding program, as the option `models` gives them. They are checked when the service
// is made, because a program may be JavaScript. Their names are checked with those of the configuration.

/** @throws {BeaverError} `invalid_configuration` */
function ownModels(given: Readonly<Record<string, ChatProvider | OwnModel>>): OwnModels {
  return Object.fromEntries(
    Object.entries(given).map(([name, each]) => {
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
  const counts = { contextTokens: provider.contextTokens, ...model }
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

/** As in the configuration. */
const bounds = {
  contextTokens: [1_000, 100_000_000],
  timeoutMs: [100, 3_600_000],
  idleMs: [100, 3_600_000],
  requestsPerMinuteMax: [1, 10_000_000],
  tokensPerMinuteMax: [1, 10_000_000_000],
} as const

const isName = (value: unknown): boolean =>
  typeof value === 'string' && value.trim() !== '' && value.length <= 100
