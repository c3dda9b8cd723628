// The client that a program gets from its service. What the program starts with it is a task of the service,
// like one of `submitDirect`: `onApproval` is asked about its calls, `stop` waits for it, and a service that
// takes no tasks refuses it. An AgentTeam on this client is such a task, too. Everything else is the client's
// own.
import type { BeaverClient, SubmittedTask } from '@beaver/client'

/** What the client needs of its service. */
export interface TaskKeeper {
  /** @throws {BeaverError} `wrong_state` if the service takes no tasks */
  mustTakeTasks(operation: 'client.submit' | 'client.run' | 'client.retry'): void
  /**
   * Follows a task from its submission to its end. The promise rejects if the task cannot be submitted, or if
   * the service lets go of it.
   */
  keep(submit: () => Promise<SubmittedTask>): Promise<unknown>
}

export function programClient(client: BeaverClient, keeper: TaskKeeper): BeaverClient {
  /** Resolves when the task is submitted; `ended` rejects when it can no longer be followed. */
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
    async submit(task) {
      keeper.mustTakeTasks('client.submit')
      return (await kept(() => client.submit(task))).submitted
    },
    async run(task, options) {
      keeper.mustTakeTasks('client.run')
      const { submitted, letGo } = await kept(() => client.submit(task))
      return Promise.race([client.run({ ...task, ...submitted }, options), letGo])
    },
    async retry(taskId) {
      keeper.mustTakeTasks('client.retry')
      return (await kept(() => client.retry(taskId))).submitted
    },
  }
}
