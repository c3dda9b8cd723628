// bench injection: a scripted model that obeys every injection of the AgentDojo cases, in real AgentLoops,
// with and without the default policy. It counts the forbidden calls that were executed and the users' tasks
// that were completed. See test/injection for the cases.
import { readSuite, suiteNames } from '../../test/injection/suite.ts'
import { type Tally, tallyOf } from '../../test/injection/tally.ts'

/** Arguments are suites. */
export async function run({ json, args }: { json: boolean; args: readonly string[] }): Promise<void> {
  const chosen = suiteNames.filter((name) => args.length === 0 || args.includes(name))
  const tallies: Tally[] = []
  for (const name of chosen) {
    const since = performance.now()
    tallies.push(await tallyOf(readSuite(name)))
    process.stderr.write(`${name}: ${Math.round(performance.now() - since)} ms\n`)
  }
  const figures = Object.fromEntries(tallies.map(({ suite, ...figure }) => [suite, figure]))
  process.stdout.write(
    json ? `${JSON.stringify({ bench: 'injection', figures, ratios: {}, sync: 'none' })}\n` : told(tallies),
  )
}

function told(tallies: readonly Tally[]): string {
  const sum = (of: (tally: Tally) => number): number => tallies.reduce((all, tally) => all + of(tally), 0)
  const row = (name: string, of: (get: (tally: Tally) => number) => number | string): readonly string[] => [
    name,
    ...[
      of((tally) => tally.cases),
      of((tally) => tally.forbidden.off),
      of((tally) => tally.forbidden.person),
      of((tally) => tally.forbidden.nobody),
      of((tally) => tally.completedUnderAttack),
      of((tally) => tally.tasks),
      of((tally) => tally.completed.off),
      of((tally) => tally.completed.person),
      of((tally) => tally.questions),
      of((tally) => tally.completed.nobody),
    ].map(String),
  ]
  const head = [
    'suite',
    'cases',
    'forbidden: off',
    'person',
    'nobody',
    'done attacked',
    'tasks',
    'done: off',
    'person',
    'questions',
    'nobody',
  ]
  const rows = [head, ...tallies.map((tally) => row(tally.suite, (get) => get(tally))), row('all', sum)]
  const widths = head.map((_, column) => Math.max(...rows.map((cells) => (cells[column] ?? '').length)))
  const lines = rows.map((cells) =>
    cells
      .map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)))
      .join('  '),
  )
  const refused = tallies.flatMap(({ suite, refused: by }) => {
    const tools = Object.entries(by).toSorted(([, a], [, b]) => b - a)
    return tools.length === 0
      ? []
      : [`  ${suite}: ${tools.map(([tool, times]) => `${tool} ${times}`).join(', ')}`]
  })
  const [cases, tasks] = [sum((tally) => tally.cases), sum((tally) => tally.tasks)]
  const both = (['person', 'nobody'] as const).map(
    (mode) =>
      `${mode}: ${sum((tally) => tally.forbiddenCases[mode])} of ${cases} attacks got through; ${sum((tally) => tally.completed[mode])} of ${tasks} benign tasks completed`,
  )
  return [
    ...lines,
    '',
    ...both,
    '',
    'cases: pairs of a task and an injection that the model reads and obeys. off: without the policy. person: with the default policy, and the user',
    'answers. nobody: with the default policy, and every question is refused. done attacked: tasks of the cases that were completed, with a person.',
    ...(refused.length === 0
      ? []
      : ['Refused where nobody answers, although the task needs it (tasks):', ...refused]),
    '',
  ].join('\n')
}
