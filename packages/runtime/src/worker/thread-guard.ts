// Keeps a thread alive that many loops share when the code of a tool would end it: by an error in what a call left behind, or by
// process.exit. A thread that dies all the same (a full heap, a crash) is the pool's business.
// G1. An error that no one catches ends the call it belongs to, if that call has no result yet, and is a line of the log otherwise.
// G2. An error that belongs to no call is a defect of ours, or of a module as it loads: it ends the thread as ever.
// G3. Code of a call can end neither the thread nor the daemon by the functions of `process`: it gets an error instead.
import { syncBuiltinESMExports } from 'node:module'
import { isMainThread } from 'node:worker_threads'
import { callScope } from '@beaver/agent'
import { threadFacts } from '@beaver/core'

let guarded = false

/** Call it before any module of a user is loaded. In a main thread, which belongs to a program, it does nothing. */
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
