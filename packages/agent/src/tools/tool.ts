// Defines what a tool is. `defineTool` makes built-in tools and users' own, and the executor treats them
// alike. Arguments reach `run` only after its schema accepted them. A tool that throws has failed; the loop
// continues. A definition that no model could call is refused, by name, when it is made.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type {
  DataOf,
  JsonObject,
  MemoryAnswer,
  MemoryChange,
  PaidEmbedding,
  SessionSearchHit,
  SessionSearchRequest,
} from '@beaver/core'
import type { SharedStateChange, SharedStateResult } from '@beaver/core/graph'
import type { ImagePart } from '@beaver/core/images'
import type { Question, QuestionAnswer } from '@beaver/core/question'
import type { Sink } from '@beaver/core/taint'
import type { TraceContext } from '@beaver/core/trace'
import type { TeamContext } from '@beaver/workflows'
import { z } from 'zod'
import type { Skill } from '../skills/skill.ts'
import type { DeclaredKind, Effects, Reads } from '../taint/tool-kind.ts'
import { definitionFault, schemaOf } from './definition-fault.ts'
import type { SubjectKind } from './judge-subject.ts'
import type { Permission, Ruled, SubjectPermission } from './permission.ts'
import { resultText } from './result-text.ts'
import { ToolInputError } from './tool-failure.ts'

export { ToolFailure, ToolInputError } from './tool-failure.ts'

/**
 * Where a call runs. `inline`: in the thread that many loops share. `thread`: in a worker thread of its own.
 * `process`: in a child process of its own, with its group. A cell that does not end is killed at the
 * deadline of the call.
 */
export type Isolation = 'inline' | 'thread' | 'process'

/** How far a call is. */
export interface ToolProgress {
  /** It rises, in a unit of the tool's own. */
  readonly progress: number
  /** What `progress` comes to at the end. Default: it is not known. */
  readonly total?: number | undefined
  /** What the tool does now, for people. It is cut at 200 characters. */
  readonly message?: string | undefined
}

/**
 * What a call may use. In a cell, there are only the workspace, the ids, the signal and `progress`: no skills
 * and no shared state, and calls to the host are refused.
 */
export interface ToolContext {
  /** The folder in which the run may work: an absolute, real path. */
  readonly workspace: string
  readonly taskId: string
  readonly sessionId: string
  readonly runId: string
  readonly callId: string
  /** The team in which the run works. Absent: it works in none. */
  readonly teamContext?: TeamContext
  /** The time zone of the user. Absent: it is not known. */
  readonly timeZone?: string
  /**
   * The trace to which the call belongs, as headers of W3C Trace Context: `traceparent` names the span of this
   * call. A tool passes it on, so that what others record is found below the call. Absent: no trace is told.
   */
  readonly trace?: TraceContext
  /** Reads or changes the state that the run's team shares. `null` if there is none. */
  readonly sharedState: ((access: SharedStateAccess) => Promise<SharedStateResult>) | null
  /** The loaded skills. */
  readonly skills: readonly Skill[]
  /** Changes the memory of the tenant. */
  memory(change: MemoryChange): Promise<MemoryAnswer>
  /**
   * Searches the transcripts of earlier sessions.
   *
   * @throws {BeaverError}
   */
  searchSessions(request: Omit<SessionSearchRequest, 'session'>): Promise<readonly SessionSearchHit[]>
  /** Calls a tool of the daemon's process. `ask` asks the person for it. Default: it may not ask. */
  callExternal(
    call: Omit<ExternalCall, 'callId'>,
    signal: AbortSignal,
    ask?: AskPerson,
  ): Promise<ExternalResult>
  /**
   * Asks the person: with options, for a text, or with a form. The answer may be to decline, and is `cancel`
   * if nobody can answer. The deadline of the call stops meanwhile. An idempotent tool that is interrupted
   * runs again and gets its recorded answers again, so it must ask the same in the same order.
   */
  readonly ask: AskPerson
  /**
   * Shows an image to the model with the result of this call. The content is durable before the result is.
   * Absent: no image can be shown here, for example in a cell.
   *
   * @param name for the model and for people, such as the path of the image
   * @throws {ToolFailure} `not_an_image`, `image_too_large`, `too_many_images`, `images_unavailable`
   */
  readonly showImage?: (content: Uint8Array, name?: string) => Promise<ImagePart>
  /**
   * Tells the people who follow the task how far the call is. It is a hint: it is not journaled, no model
   * reads it, and of several updates within a quarter of a second only the newest is passed on. It never
   * throws and nobody waits for it. It does not prolong the deadline of the call.
   */
  readonly progress: (update: ToolProgress) => void
  /**
   * Says what the result has besides what the subject names, so that the run gets its labels. A path that the
   * subject names counts by itself, also where a link leads.
   */
  readonly reads: (source: ReadSource) => void
  /**
   * Judges another subject of the same tool by the rules of the configuration, for what is known only while
   * the call runs.
   */
  permission(subject: string): SubjectPermission
  /** Aborts at the call's deadline and when the run is cancelled. */
  readonly signal: AbortSignal
}

/** What a result has: the text of files or only their names, or the text of a stranger. */
export type ReadSource =
  | {
      /** Paths after all links: relative to the workspace, with `/`, or absolute. */
      readonly files: readonly string[]
      /** Whether the result has only the names of the files. Default: `false`. */
      readonly namesOnly?: boolean
    }
  /** `stranger`: for people, whose text it is. */
  | { readonly stranger: string }

/** A change of the shared state, or a read at a path. The empty path is the whole state. */
export type SharedStateAccess = SharedStateChange | { readonly action: 'get'; readonly path: string }

/** A call of an external tool. */
export interface ExternalCall {
  readonly name: string
  readonly callId: string
  readonly arguments: JsonObject
  /** The run to which the call belongs. */
  readonly run?: Pick<ToolContext, 'workspace' | 'taskId' | 'sessionId' | 'runId' | 'trace'> | undefined
}

/** The result of an external call. */
export interface ExternalResult {
  readonly success: boolean
  readonly content: string
  /** A code if `success` is false. */
  readonly error: string | null
  /** What the model is shown besides `content`. Absent: nothing. */
  readonly images?: readonly ExternalImage[]
  /** A call of an embedding model that was made for it. Absent: none. */
  readonly paid?: PaidEmbedding
}

/** An image of a result. Its first bytes say what it is. */
export interface ExternalImage {
  readonly content: Uint8Array
  /** What the model reads of it. */
  readonly name?: string
}

/**
 * Asks the person for a running call. Resolves with the answer, also if that is to decline; `cancel` if
 * nobody can answer or nobody did in time. The question and the answer are events of the task. If the call is
 * made again after a crash, recorded answers are given again, in order.
 *
 * @throws {ToolFailure} `invalid_question`, `too_many_questions`; `question_changed` if the call asks
 * something else than before the crash; `cancelled`
 */
export type AskPerson = (question: Question) => Promise<QuestionAnswer & { readonly reason?: string }>

/** What a call would change, for the person who is asked about it. */
export type CallPreview = NonNullable<DataOf<'approval_requested'>['preview']>

/** What a preview may use. */
export type PreviewContext = Pick<ToolContext, 'workspace' | 'permission' | 'signal'>

/** A tool in the form that the executor uses. */
export interface Tool extends Ruled, DeclaredKind {
  readonly description: string
  /** Whose text the description is, for people, if it is a stranger's. Default: the user's own. */
  readonly describedBy?: string
  /** The JSON Schema of the arguments. */
  readonly parameters: Record<string, unknown>
  /**
   * Whether running the tool twice does no harm. If so, it runs again after a crash; otherwise its outcome is
   * in doubt.
   */
  readonly idempotent: boolean
  /**
   * What a call would change. It must change nothing.
   *
   * @throws {ToolFailure} what the call itself would fail with: nobody is asked then
   */
  preview?(args: unknown, context: PreviewContext): Promise<CallPreview | null>
  /**
   * Why `invoke` would refuse the arguments, so that nobody is asked about such a call. `null`: it would not.
   * Absent: this is not known before.
   */
  inputFault?(args: unknown): string | null
  /** How long a call may take, in milliseconds. Default: the configured bound. */
  readonly timeoutMs?: number
  /** Default: `inline`. Other values need `module`. */
  readonly isolation?: Isolation
  /** Whether its calls only wait for the daemon's process: nothing of them runs in the thread. */
  readonly inHost?: true
  /** Whether the client that submitted the task makes its calls (loop/client-call.ts). */
  readonly atClient?: true
  /** Whether the daemon's process describes a call before it is judged (loop/described-work.ts). */
  readonly describes?: boolean
  /**
   * The URL of the module that exports the tool, for its cells. `loadTools` sets it. Built-in tools have
   * none.
   */
  readonly module?: string
  /** The content of its module that was accepted, for its cells. `loadTools` sets it. */
  readonly accepted?: AcceptedFiles
  /**
   * Parses the arguments and runs the tool.
   *
   * @throws {ToolInputError} if the arguments do not fit; any other error is a failed call
   */
  invoke(args: unknown, context: ToolContext): Promise<string>
}

/** The definition of a tool, for `defineTool`. */
export interface ToolDefinition<Input extends z.ZodType> {
  /** 1 to 64 of `a-z A-Z 0-9 _ -`. */
  readonly name: string
  /** For the model: what the tool does, when to use it, what it returns. */
  readonly description: string
  /** The schema of the arguments, an object. Use `z.strictObject`. */
  readonly input: Input
  /** Whether running the tool twice does no harm. Default: `false`, and `true` for a pure tool. */
  readonly idempotent?: boolean
  /**
   * Whether the tool computes its result from its arguments alone, in little time, inline. It reads and
   * changes nothing else, so nobody can tell whether it ran. Its result is recorded in one entry with the
   * call. Default: `false`.
   */
  readonly pure?: boolean
  /**
   * What a call does: `none` (it computes), `reads` or `writes`. After the run has read a stranger's text or
   * a secret, a call that writes asks a person. Default: `writes`, and `none` for a pure tool.
   */
  readonly effects?: Effects
  /**
   * What a call does with its arguments, if `effects` does not say enough: `fetch` contacts an address, which
   * `subject` names; `query` asks a service of the operator; `send` acts on the outside; `memory`, `command`,
   * `files`. Default: `send` if the tool writes, otherwise nothing.
   */
  readonly sink?: Sink
  /**
   * Whose text the results are: `public`, `own`, `web`, `untrusted` or `secret`, for all calls or by the
   * arguments. Default: `own`, and `public` if `effects` is `none`.
   */
  readonly reads?: Reads | ((input: z.output<Input>) => Reads)
  /**
   * Where a call runs. Default: `inline`. A tool in a cell is exported by a module that the configuration
   * names.
   */
  readonly isolation?: Isolation
  /** Applies if no rule of the configuration decides. Default: `allow`. */
  readonly permission?: Permission
  /** What a call acts on, for rules and people. Default: the arguments as JSON. */
  subject?(input: z.output<Input>): string | null
  /**
   * What the subject is: `path` (relative to the workspace, with `/`), `url`, `command` (a line for a POSIX
   * shell) or `text`. A rule that asks or denies then also holds for other spellings of the same thing.
   * Default: it is compared as `text`, and the paths in it give the result their labels.
   */
  readonly subjectKind?: SubjectKind
  /**
   * The rules for the tool of this name hold for this tool, too, because it does the same. Default: only its
   * own.
   */
  readonly ruledAs?: string
  /**
   * What a call would change, for the person who is asked. It must change nothing. Default: the person sees
   * the subject only.
   */
  preview?(input: z.output<Input>, context: PreviewContext): Promise<CallPreview | null>
  /** How long a call may take, in milliseconds. Default: `agent.tool_timeout_ms` of the configuration. */
  readonly timeoutMs?: number
  /** Returns the result, or a promise of it. A string is the result; any other value becomes JSON. */
  run(input: z.output<Input>, context: ToolContext): unknown
}

/**
 * Makes a tool from its definition.
 *
 * @throws {BeaverError} `invalid_configuration` if no model could call it: a bad name, no description, an
 * input that is no object
 * @example
 * const add = defineTool({
 *   name: 'add',
 *   description: 'Adds two numbers.',
 *   input: z.strictObject({ a: z.number(), b: z.number() }),
 *   pure: true,
 *   run: ({ a, b }) => a + b,
 * })
 * add.idempotent // => true
 * add.inputFault?.({ a: 1, b: 2 }) // => null
 */
export function defineTool<Input extends z.ZodType>(definition: ToolDefinition<Input>): Tool {
  const fault = definitionFault(definition)
  if (fault !== null) throw fault
  const { name, isolation, permission, timeoutMs, effects, sink, reads } = definition
  const misfit = (error: z.ZodError): string =>
    `The arguments of ${name} do not fit: ${z.prettifyError(error)}`
  return {
    name,
    description: definition.description,
    parameters: schemaOf(definition),
    idempotent: definition.idempotent ?? definition.pure ?? false,
    ...(definition.pure === true ? { pure: true } : {}),
    ...(isolation === undefined || isolation === 'inline' ? {} : { isolation }),
    ...(permission === undefined ? {} : { permission }),
    ...(effects === undefined ? {} : { effects }),
    ...(sink === undefined ? {} : { sink }),
    ...(reads === undefined
      ? {}
      : {
          reads: typeof reads === 'function' ? (args: unknown) => reads(definition.input.parse(args)) : reads,
        }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(definition.subjectKind === undefined ? {} : { subjectKind: definition.subjectKind }),
    ...(definition.ruledAs === undefined ? {} : { ruledAs: definition.ruledAs }),
    // Arguments that do not fit never run. Their subject is their JSON.
    ...(definition.subject === undefined
      ? {}
      : {
          subject(args: unknown) {
            const input = definition.input.safeParse(args)
            return input.success ? (definition.subject?.(input.data) ?? null) : null
          },
        }),
    ...(definition.preview === undefined
      ? {}
      : {
          async preview(args: unknown, context: PreviewContext) {
            const input = definition.input.safeParse(args)
            return input.success ? ((await definition.preview?.(input.data, context)) ?? null) : null
          },
        }),
    inputFault(args) {
      const input = definition.input.safeParse(args)
      return input.success ? null : misfit(input.error)
    },
    async invoke(args, context) {
      const input = definition.input.safeParse(args)
      if (!input.success) throw new ToolInputError(misfit(input.error))
      return resultText(name, await definition.run(input.data, context))
    },
  }
}

// The files of tool modules that somebody accepted by their content. They are compared before each new thread
// and each call in a cell loads them, because agents may be able to write to their folder. A file can still
// change between the comparison and the import: a process that wins this race can write to the folder at any
// time.

/** The SHA-256 of each file, by its absolute path. An empty record: nothing is compared. */
export type AcceptedFiles = Readonly<Record<string, string>>

/** Says which file differs from what was accepted, or returns `null`. */
export function changedFile(accepted: AcceptedFiles): string | null {
  const changed = Object.entries(accepted).find(([path, hash]) => hashOf(path) !== hash)
  return changed === undefined
    ? null
    : `${changed[0]} has changed since its folder was trusted. Start Beaver again: it asks for your consent.`
}

function hashOf(path: string): string {
  try {
    return createHash('sha256').update(readFileSync(path)).digest('hex')
  } catch {
    return 'missing'
  }
}
