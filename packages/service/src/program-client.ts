// The client that a program gets from its service. A task that the program starts with this client is a task
// of the service, like one of `submitDirect`: `onApproval` decides about its calls, `stop` waits for it, and
// a service that takes no tasks refuses it. The same holds for the tasks of an AgentTeam on this client. All
// other methods are those of the wrapped client.
import { type BeaverClient, type SubmittedTask, typedTask } from '@beaver/client'

/** What the client needs from its service. */
export interface TaskKeeper {
  /**
   * Throws if the service takes no tasks.
   *
   * @throws {BeaverError} `wrong_state`
   */
  mustTakeTasks(operation: 'client.submit' | 'client.run' | 'client.retry'): void
  /**
   * Submits a task and follows it to its end. The promise rejects if the submission fails, or if the service
   * lets go of the task.
   */
  keep(submit: () => Promise<SubmittedTask>): Promise<unknown>
}

/** Wraps a client, so that the service follows the tasks that the client starts. */
export function programClient(client: BeaverClient, keeper: TaskKeeper): BeaverClient {
  /**
   * Resolves when the task is submitted. `letGo` rejects when the service lets go of the task, and never
   * resolves.
   */
  async function kept<Submitted extends SubmittedTask>(
    submit: () => Promise<Submitted>,
  ): Promise<{ submitted: Submitted; letGo: Promise<never> }> {
    const { promise, resolve } = Promise.withResolvers<Submitted>()
    const letGo = keeper
      .keep(async () => {
        const submitted = await submit()
        resolve(submitted)
        return submitted
      })
      .then(() => new Promise<never>(() => {}))
    letGo.catch(() => {})
    return { submitted: await Promise.race([promise, letGo]), letGo }
  }

  return {
    ...client,
    async submit(input, options) {
      keeper.mustTakeTasks('client.submit')
      return (await kept(() => client.submit(input, options))).submitted
    },
    async run(input, { timeoutMs, ...options } = {}) {
      keeper.mustTakeTasks('client.run')
      const task = typedTask(input, options)
      const { submitted, letGo } = await kept(() => client.submit(task))
      return Promise.race([client.run({ ...task, ...submitted }, { timeoutMs }), letGo])
    },
    async retry(taskId, options) {
      keeper.mustTakeTasks('client.retry')
      return (await kept(() => client.retry(taskId, options))).submitted
    },
  }
}
