// Keeps a shared thread alive when the code of a tool would end it, by a late error or by process.exit. If
// the thread dies all the same (a full heap, a crash), the pool deals with it. An error that nobody catches
// ends the call that it belongs to, if that call has no result yet. Otherwise it becomes a line of the log.
// An error that belongs to no call is a defect of Beaver, or of a module while it loads: it ends the thread
// as usual. The code of a call cannot end the thread or the daemon through the functions of `process`: it
// gets an error instead.
import { syncBuiltinESMExports } from 'node:module'
import { isMainThread } from 'node:worker_threads'
import { callScope } from '@beaver/agent'
import { threadFacts } from '@beaver/core'

let guarded = false

/**
 * Call it before any module of a user is loaded. In a main thread, which belongs to a program, it does
 * nothing.
 */
export function guardThread(): void {
  if (guarded || isMainThread) return
  guarded = true
  const stray = (error: unknown): void => {
    if (belongsToCall(error)) return
    process.off('uncaughtException', stray).off('unhandledRejection', stray)
    // Without a listener it ends the thread, and the pool is told why.
    setImmediate(() => {
      throw error
    })
  }
  process.on('uncaughtException', stray).on('unhandledRejection', stray)
  const { exit, kill } = process
  process.exit = (code) => {
    refuseInCall(`process.exit(${code ?? ''})`)
    return exit.call(process, code)
  }
  process.kill = (pid, signal) => {
    if (pid === process.pid && signal !== 0) refuseInCall(`process.kill of the daemon's own process`)
    return kill.call(process, pid, signal)
  }
  syncBuiltinESMExports()
}

/** Whether the error came from a call of a tool. */
function belongsToCall(error: unknown): boolean {
  const scope = callScope.current()
  if (scope === null) return false
  const ended = scope.fail(error)
  if (!ended) threadFacts.threwLate(scope.logger, { error })
  return true
}

function refuseInCall(what: string): void {
  const scope = callScope.current()
  if (scope === null) return
  const refused = new Error(`${scope.tool} called ${what}, which would end other agents too. It was stopped.`)
  scope.fail(refused)
  throw refused
}
