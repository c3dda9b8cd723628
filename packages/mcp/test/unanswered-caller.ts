// A caller of workflows behind which there is no daemon.
import type { WorkflowCaller, WorkflowCallResult } from '../src/index.ts'

const none: WorkflowCallResult = { ok: false, error: { code: 'no_daemon', message: 'There is none.' } }

export function calledFor(tell: (workflow: string) => void): WorkflowCaller {
  return {
    goOn: async () => none,
    async call(workflow) {
      tell(workflow)
      return none
    },
  }
}
