// Tells to which call the running code belongs, also in callbacks that a tool leaves behind: timers,
// promises, sockets. Code that a call started is in the scope of that call, however late it runs. Code of a
// loop is in no scope.
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Logger } from '@beaver/core'

/** The call to which running code belongs. */
export interface CallScope {
  readonly tool: string
  readonly taskId: string
  readonly runId: string
  readonly callId: string
  /** Adds the ids of the call to each line. */
  readonly logger: Logger
  /** Ends the call with this error if it has no result yet. Returns whether it did. */
  fail(error: unknown): boolean
}

const scopes = new AsyncLocalStorage<CallScope>()

/** Runs code in the scope of a call, and tells the scope of the running code. */
export const callScope = {
  run: <Value>(scope: CallScope, act: () => Value): Value => scopes.run(scope, act),
  /** Returns `null` if no tool's code runs. */
  current: (): CallScope | null => scopes.getStore() ?? null,
}
