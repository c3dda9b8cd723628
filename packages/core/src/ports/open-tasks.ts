// The OpenTasks port: the tasks that have not ended, as the read model knows them. The sweep of a daemon uses
// it as a hint and reads the journal before it acts.

/** A task that has not ended. */
export interface OpenTask {
  readonly session_id: string
  readonly task_id: string
  /** The daemon that claimed the task; `null` if no daemon has it. */
  readonly owner: string | null
  /** The position of the last event in the task's log. */
  readonly taskseq: number
}

/** The open tasks of the read model. They are a hint, and may be out of date. */
export interface OpenTasks {
  /**
   * The tasks of the tenant that need a daemon: those that a daemon claimed, and those without a daemon that
   * wait for nothing in the journal and had no event for `idleMsMin`. The task with the oldest last event is
   * first.
   *
   * @throws {BeaverError} if the read model does not answer
   */
  list(wanted: {
    tenant: string
    owner?: string
    idleMsMin: number
    limit: number
  }): Promise<readonly OpenTask[]>
}
