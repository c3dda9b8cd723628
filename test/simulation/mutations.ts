// The mends of issue 13, each with an edit of the sources that takes it out and nothing else. `pnpm simulate
// --mutations` runs schedules without each of them until one breaks a rule; test/campaign/simulation.test.ts
// keeps the table true.

export interface SimMutation {
  readonly name: string
  /** The number of the fault in issue 13; `null`: another. */
  readonly issue: number | null
  /** From which seed on to look, so that a test finds it at once. Default 1. */
  readonly from?: number
  /** What comes back. */
  readonly fault: string
  readonly file: string
  /** Stands in the file exactly once. */
  readonly snippet: string
  readonly replacement: string
}

const runtime = (file: string): string => `packages/runtime/src/${file}`

export const simMutations: readonly SimMutation[] = [
  {
    name: 'waiting-holds-slot',
    issue: 1,
    from: 5,
    fault: 'a task that only waits is not let go of',
    file: runtime('task-supervisor.ts'),
    snippet: "this.#actor.send({ type: 'suspend', wait })",
    replacement: 'timer.again()',
  },
  {
    name: 'follower-holds-slot',
    issue: 1,
    from: 224,
    fault: 'a task that follows another one holds its slot',
    file: runtime('task-driver.ts'),
    snippet: "        case 'follows':\n          break",
    replacement:
      "        case 'follows':\n          await pause(this.#options.clock, 200, this.#draining.signal)\n          if (!this.#isDraining) continue\n          break",
  },
  {
    name: 'lease-of-silent-journal',
    issue: 6,
    from: 326,
    fault: 'leases are renewed while the journal does not answer',
    file: runtime('task-driver.ts'),
    snippet: 'if (this.#healthy) this.#renew()',
    replacement: 'this.#renew()',
  },
  {
    name: 'dead-not-swept',
    issue: 6,
    from: 571,
    fault: 'nobody looks after the tasks of a dead daemon but their leases',
    file: runtime('sweep.ts'),
    snippet: 'return task.owner === null || gone.has(task.owner)',
    replacement: 'return task.owner === null',
  },
  {
    name: 'death-unnoticed',
    issue: 6,
    from: 1866,
    fault: 'the death of a daemon is noticed by nobody',
    file: runtime('sweep.ts'),
    snippet: 'now: (owner) => (owner === undefined ? now(nowAndThen()) : afterDeathOf(owner)),',
    replacement: 'now: async (owner) => (owner === undefined ? now(nowAndThen()) : 0),',
  },
  {
    name: 'no-sweep',
    issue: 7,
    from: 7,
    fault: 'a task whose delivery was lost is never looked at',
    file: runtime('sweep.ts'),
    snippet: 'await wake(forsaken, reason)',
    replacement: 'forsaken.length = 0',
  },
  {
    name: 'id-unfenced',
    issue: 8,
    from: 4,
    fault: 'an id is no task of its tenant, only of its session',
    file: 'packages/testing/src/memory-journal.ts',
    snippet: 'const by = ids.get(keyOf(log.tenant, log.task))\n',
    replacement: 'const by = logs.has(logKey(log)) ? log : undefined\n',
  },
  {
    name: 'next-forgotten',
    issue: null,
    fault: 'the end of a task does not wake the one behind it',
    file: runtime('task-driver.ts'),
    snippet: 'if (following !== null) await queue.wake({ ...log, task: following })',
    replacement: 'if (following === null) return',
  },
  {
    name: 'wake-forgotten',
    issue: null,
    fault: 'a wake that comes while the task is looked at is forgotten',
    file: runtime('held-task.ts'),
    snippet: 'return this.#woken !== null',
    replacement: 'return false',
  },
  {
    name: 'alarm-forgotten',
    issue: null,
    fault: 'a task is suspended without an alarm',
    file: runtime('task-supervisor.ts'),
    snippet: 'await queue.wakeIn(this.log, waitMs)',
    replacement: 'await Promise.resolve()',
  },
  {
    name: 'overtaken-unnoticed',
    issue: null,
    fault: 'a daemon that only waits never learns that it lost the task',
    file: runtime('task-supervisor.ts'),
    snippet: 'if (head.epoch > taskLog.epoch || head.taskseq > taskLog.given)',
    replacement: 'if (head.epoch < 0)',
  },
  {
    name: 'silent-for-ever',
    issue: null,
    fault: 'a daemon that hangs keeps its tasks when their lease was lost',
    file: runtime('sweep.ts'),
    snippet: "state === 'gone' || nowMs",
    replacement: "state === 'gone' || 0 * nowMs",
  },
  {
    name: 'steer-unheard',
    issue: null,
    from: 2,
    fault: 'a task completes although its root was not told what steers it',
    file: runtime('task-run.ts'),
    snippet: "rootEnd.status === 'completed' ? this.#steers.untilTold",
    replacement: "rootEnd.status === 'failed' ? this.#steers.untilTold",
  },
  {
    name: 'steer-repeated',
    issue: null,
    from: 2,
    fault: 'a repeated request steers a task again',
    file: runtime('task-steers.ts'),
    snippet: 'if (known === textOf(drafted(made).event)) return null',
    replacement: 'if (known === textOf(drafted(made).event)) return made',
  },
  {
    name: 'left-wake-forgotten',
    issue: null,
    fault: 'a wake is forgotten that comes while the task is left to another daemon',
    file: runtime('task-driver.ts'),
    snippet: "if (!task.woken) return 'done'",
    replacement: "if (task.log !== null) return 'done'",
  },
  {
    name: 'wake-died-with-its-daemon',
    issue: null,
    from: 641_288_460,
    fault: 'a wake that died with the daemon it was given to is taken for one that is on its way',
    file: runtime('sweep.ts'),
    snippet: '${task.taskseq} ${reason}`',
    replacement: '${task.taskseq}`',
  },
  {
    name: 'loss-unnoticed',
    issue: null,
    fault: 'a daemon that was stopped goes on with a task that it has lost',
    file: runtime('task-log.ts'),
    snippet: 'else if (newest.epoch <= this.epoch) return',
    replacement: 'else if (newest.epoch <= Infinity) return',
  },
  {
    name: 'stale-run',
    issue: null,
    fault: 'a run is taken up again from a stale read of its log',
    file: runtime('load-task.ts'),
    snippet: '(entries.at(-1)?.revision ?? 0) < (last?.revision ?? 0)',
    replacement: 'last !== null && entries.length === 0',
  },
  {
    name: 'session-unordered',
    issue: null,
    fault: 'a task does not wait for the one before it',
    file: runtime('assess-task.ts'),
    snippet: 'if (previous !== null && head.epoch === 0 &&',
    replacement: 'if (previous !== null && head.epoch < 0 &&',
  },
  {
    name: 'claim-unfenced',
    issue: null,
    fault: 'a stale expectation is not refused',
    file: 'packages/testing/src/memory-journal.ts',
    snippet: "if (behind !== expectedRevision) return { kind: 'fenced' }",
    replacement: "if (behind < expectedRevision) return { kind: 'fenced' }",
  },
  {
    name: 'room-unlimited',
    issue: null,
    fault: 'a delivery is taken without room for it',
    file: runtime('task-driver.ts'),
    snippet: 'if (this.#isDraining || this.#room <= 0) return delivery.giveBack(fullPauseMs)',
    replacement: 'if (this.#isDraining) return delivery.giveBack(fullPauseMs)',
  },
  {
    name: 'client-answers-again',
    issue: null,
    from: 389,
    fault: 'a client answers a call for the second time, with something else',
    file: runtime('task-approvals.ts'),
    snippet: '        return first === undefined\n',
    replacement: '        return true\n',
  },
  {
    name: 'client-holds-slot',
    issue: null,
    from: 67,
    fault: 'a task that waits for its client is not let go of',
    file: runtime('suspension.ts'),
    snippet: '  if (asked.length > 0 && ofPerson.length === 0)\n    return {',
    replacement: '  if (asked.length > 0 && ofPerson.length === 0)\n    return waitMs > 0 ? null : {',
  },
]
