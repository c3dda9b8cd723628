// What a tool is. Built-in tools and users' own are made by `defineTool`; the executor treats them alike.
// T1. Arguments reach `run` only after its schema accepted them. T2. A tool that throws has failed, nothing more: the loop goes on.
import type { MemoryAnswer, MemoryChange, SessionSearchHit, SessionSearchRequest, SharedStateResult } from '@beaver/core'
import { z } from 'zod'
import type { SharedStateAccess } from '../loop/loop-spec.ts'
import type { Skill } from '../skills/skill.ts'
import type { ExternalCall, ExternalResult } from './external-tools.ts'
import type { Permission } from './permission.ts'

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
  /** Where no rule of the configuration says otherwise; absent: `allow`. */
  readonly permission?: Permission
  /** What a call acts on, as rules and people see it: a path, a URL, a command. Absent: the arguments as JSON. */
  subject?(args: unknown): string | null
  /** Milliseconds a call may take, where it differs from the configured bound. */
  readonly timeoutMs?: number
  /** Parses and runs. @throws {ToolInputError} when the arguments do not fit; anything else thrown is a failed call */
  invoke(args: unknown, context: ToolContext): Promise<string>
}

/** The arguments do not fit the tool. The message is for the model: it says what to change. */
export class ToolInputError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ToolInputError'
  }
}

/** A failure the model should read: what happened, with which thing, what to do. `code` is for programs. */
export class ToolFailure extends Error {
  readonly code: string
  constructor(code: string, message: string) {
    super(message)
    this.name = 'ToolFailure'
    this.code = code
  }
}

export interface ToolDefinition<Input extends z.ZodType> {
  /** 1 to 64 of `a-z A-Z 0-9 _ -`. */
  readonly name: string
  /** For the model: what it does, when to use it, what it returns. */
  readonly description: string
  /** Use `z.strictObject`. */
  readonly input: Input
  /** Default `false`. */
  readonly idempotent?: boolean
  /** A string is the result as it is; anything else becomes JSON. May be a promise. */
  run(input: z.output<Input>, context: ToolContext): unknown
}

/**
 * @example
 * defineTool({ name: 'add', description: 'Adds two numbers.', input: z.strictObject({ a: z.number(), b: z.number() }), idempotent: true, run: ({ a, b }) => a + b })
 */
export function defineTool<Input extends z.ZodType>(definition: ToolDefinition<Input>): Tool {
  const { $schema: _, ...parameters } = z.toJSONSchema(definition.input, { io: 'input' }) as Record<string, unknown>
  return {
    name: definition.name,
    description: definition.description,
    parameters,
    idempotent: definition.idempotent ?? false,
    async invoke(args, context) {
      const input = definition.input.safeParse(args)
      if (!input.success) throw new ToolInputError(`The arguments of ${definition.name} do not fit: ${z.prettifyError(input.error)}`)
      const result = await definition.run(input.data, context)
      return typeof result === 'string' ? result : (JSON.stringify(result) ?? 'null')
    },
  }
}
