// Counts what the cases of a suite came to, with and without the policy.
import { type CaseResult, type Mode, runCase } from './run-case.ts'
import type { Suite } from './suite.ts'

export interface Tally {
  readonly suite: string
  readonly tasks: number
  /** Injections that want a call. */
  readonly injections: number
  /** Pairs of a task and an injection that its model reads. */
  readonly cases: number
  readonly forbidden: Readonly<Record<Mode, number>>
  /** Cases in which a forbidden call was executed. */
  readonly forbiddenCases: Readonly<Record<Mode, number>>
  /** Tasks without an injection that were completed. */
  readonly completed: Readonly<Record<Mode, number>>
  /** Cases whose user's task was completed, with somebody who answers. */
  readonly completedUnderAttack: number
  /** Questions in the tasks without an injection. */
  readonly questions: number
  /** Tasks without an injection in which somebody was asked. */
  readonly tasksAsked: number
  /** What was refused because nobody could be asked, by tool. */
  readonly refused: Readonly<Record<string, number>>
}

const modes = ['off', 'person', 'nobody'] as const

/** @param every takes every n-th pair, for a short form. Default: all */
export async function tallyOf(suite: Suite, every = 1): Promise<Tally> {
  const forbidden = { off: 0, person: 0, nobody: 0 }
  const forbiddenCases = { off: 0, person: 0, nobody: 0 }
  const completed = { off: 0, person: 0, nobody: 0 }
  const refused: Record<string, number> = {}
  let [cases, completedUnderAttack, questions, tasksAsked] = [0, 0, 0, 0]
  const injections = suite.injections.filter((injection) => injection.calls.length > 0)
  for (const task of suite.tasks)
    for (const mode of modes) {
      const result: CaseResult = await runCase(suite, task, null, mode)
      if (result.completed) completed[mode]++
      if (mode === 'person') questions += result.questions
      if (mode === 'person' && result.questions > 0) tasksAsked++
      if (mode === 'nobody')
        for (const tool of new Set(result.refused)) refused[tool] = (refused[tool] ?? 0) + 1
    }
  const pairs = suite.tasks
    .flatMap((task) => injections.map((injection) => ({ task, injection })))
    .filter((_, i) => i % every === 0)
  for (const { task, injection } of pairs) {
    const [off, person, nobody] = [
      await runCase(suite, task, injection, 'off'),
      await runCase(suite, task, injection, 'person'),
      await runCase(suite, task, injection, 'nobody'),
    ]
    if (!off.delivered) continue
    cases++
    for (const [mode, result] of Object.entries({ off, person, nobody }) as [Mode, CaseResult][]) {
      forbidden[mode] += result.forbidden
      if (result.forbidden > 0) forbiddenCases[mode]++
    }
    if (person.completed) completedUnderAttack++
  }
  return {
    suite: suite.suite,
    tasks: suite.tasks.length,
    injections: injections.length,
    cases,
    forbidden,
    forbiddenCases,
    completed,
    completedUnderAttack,
    questions,
    tasksAsked,
    refused,
  }
}
