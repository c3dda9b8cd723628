// What a tool is. Built-in tools and users' own are made by `defineTool`; the executor treats them alike.
// T1. Arguments reach `run` only after its schema accepted them. T2. A tool that throws has failed, nothing more: the loop goes on.
// T3. A definition that no model could call is refused when it is made, by name.
import type { MemoryAnswer, MemoryChange, SessionSearchHit, SessionSearchRequest, SharedStateResult } from '@beaver/core'
import { z } from 'zod'
import type { SharedStateAccess } from '../loop/loop-spec.ts'
import type { Skill } from '../skills/skill.ts'
import { definitionFault, schemaOf } from './definition-fault.ts'
import type { ExternalCall, ExternalResult } from './external-tools.ts'
import type { Permission } from './permission.ts'
import { resultText } from './result-text.ts'
import { ToolInputError } from './tool-failure.ts'

export { ToolFailure, ToolInputError } from './tool-failure.ts'

/**
 * Where a call runs. `inline`: in the thread that many loops share. `thread`: in a worker thread of its own. `process`: in a
 * child process of its own, with its group. A cell that does not end is killed at the deadline of the call.
 */
export type Isolation = 'inline' | 'thread' | 'process'

/** In a cell there are the workspace, the ids and the signal: no skills, no shared state, and the calls to the host are refused. */
export interface ToolContext {
  /** The folder the run may work in; absolute, real path. */
  readonly workspace: string
  readonly taskId: string
  readonly sessionId: string
  readonly runId: string
  readonly callId: string
  /** The state the run's team shares; `null` when there is none. */
  readonly sharedState: ((access: SharedStateAccess) => Promise<SharedStateResult>) | null
  /** The skills there are. */
  readonly skills: readonly Skill[]
  /** Changes the memory of the tenant. */
  memory(change: MemoryChange): Promise<MemoryAnswer>
  /** Searches the transcripts of earlier sessions. @throws {BeaverError} */
  searchSessions(request: Omit<SessionSearchRequest, 'session'>): Promise<readonly SessionSearchHit[]>
  /** Calls a tool of the daemon's process. */
  callExternal(call: Omit<ExternalCall, 'callId'>, signal: AbortSignal): Promise<ExternalResult>
  /** Aborts at the call's deadline and when the run is cancelled. */
  readonly signal: AbortSignal
}

export interface Tool {
  readonly name: string
  readonly description: string
  /** JSON Schema of the arguments. */
  readonly parameters: Record<string, unknown>
  /** Running it twice does no harm: after a crash it is run again, otherwise its outcome is in doubt. */
  readonly idempotent: boolean
  /** Its result follows from its arguments alone: the loop does not wait for a record of the call before it makes it. */
  readonly pure?: boolean
  /** Where no rule of the configuration says otherwise; absent: `allow`. */
  readonly permission?: Permission
  /** What a call acts on, as rules and people see it: a path, a URL, a command. Absent: the arguments as JSON. */
  subject?(args: unknown): string | null
  /** Why `invoke` would refuse the arguments, so that nobody is asked about such a call; `null`: it would not. Absent: not known before. */
  inputFault?(args: unknown): string | null
  /** Milliseconds a call may take, where it differs from the configured bound. */
  readonly timeoutMs?: number
  /** Absent: `inline`. Anything else needs `module`. */
  readonly isolation?: Isolation
  /** Its calls only wait for the daemon's process: nothing of them runs in the thread. */
  readonly inHost?: true
  /** URL of the module that exports the tool, for its cells; absent for what is built in. `loadTools` sets it. */
  readonly module?: string
  /** Parses and runs. @throws {ToolInputError} when the arguments do not fit; anything else thrown is a failed call */
  invoke(args: unknown, context: ToolContext): Promise<string>
}

export interface ToolDefinition<Input extends z.ZodType> {
  /** 1 to 64 of `a-z A-Z 0-9 _ -`. */
  readonly name: string
  /** For the model: what it does, when to use it, what it returns. */
  readonly description: string
  /** An object. Use `z.strictObject`. */
  readonly input: Input
  /** Default `false`, and `true` for a pure tool. */
  readonly idempotent?: boolean
  /**
   * It computes its result from its arguments alone, in little time, inline: it reads and changes nothing else, so that nobody can
   * tell whether it ran. Its result is recorded in one entry with the call. Default `false`.
   */
  readonly pure?: boolean
  /** Default `inline`. A tool in a cell is exported by a module that the configuration names. */
  readonly isolation?: Isolation
  /** Where no rule of the configuration decides. Default `allow`. */
  readonly permission?: Permission
  /** What a call acts on, as rules and people see it. Default: the arguments as JSON. */
  subject?(input: z.output<Input>): string | null
  /** Default: `agent.tool_timeout_ms` of the configuration. */
  readonly timeoutMs?: number
  /** A string is the result as it is; anything else becomes JSON. May be a promise. */
  run(input: z.output<Input>, context: ToolContext): unknown
}

/**
 * @throws {BeaverError} `invalid_configuration` when no model could call it: a bad name, no description, an input that is no object
 * @example
 * defineTool({ name: 'add', description: 'Adds two numbers.', input: z.strictObject({ a: z.number(), b: z.number() }), pure: true, run: ({ a, b }) => a + b })
 */
export function defineTool<Input extends z.ZodType>(definition: ToolDefinition<Input>): Tool {
  const fault = definitionFault(definition)
  if (fault !== null) throw fault
  const { name, isolation, permission, timeoutMs } = definition
  const misfit = (error: z.ZodError): string => `The arguments of ${name} do not fit: ${z.prettifyError(error)}`
  return {
    name,
    description: definition.description,
    parameters: schemaOf(definition),
    idempotent: definition.idempotent ?? definition.pure ?? false,
    ...(definition.pure === true ? { pure: true } : {}),
    ...(isolation === undefined || isolation === 'inline' ? {} : { isolation }),
    ...(permission === undefined ? {} : { permission }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    // Of arguments that do not fit, which never run, the subject is their JSON.
    ...(definition.subject === undefined
      ? {}
      : {
          subject(args: unknown) {
            const input = definition.input.safeParse(args)
            return input.success ? (definition.subject?.(input.data) ?? null) : null
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
