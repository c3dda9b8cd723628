// The OpenTasks port: which tasks have not ended, as the read model knows it. What the daemons' sweep goes by: a hint, looked at again
// in the journal before anything is done about it.

export interface OpenTask {
  readonly session_id: string
  readonly task_id: string
  /** The daemon that claimed it; `null` when nobody has it. */
  readonly owner: string | null
  /** The place of its last event in its log. */
  readonly taskseq: number
}

export interface OpenTasks {
  /**
   * Tasks of the tenant that need a daemon: those that some daemon claimed, and those without one which nothing in the journal says to
   * wait and to which nothing has happened for `idleMsMin`. Oldest last event first.
   * @throws {BeaverError} when the read model does not answer
   */
  list(wanted: { tenant: string; owner?: string; idleMsMin: number; limit: number }): Promise<readonly OpenTask[]>
}
