// `pnpm simulate [--schedules <n>] [--seed <n>] [--minutes <m>]`: schedules of simulated daemons, from a seed
// on. `pnpm simulate --seed <n> --show`: one schedule, made smaller when it breaks a rule, with all that
// happens in it. `pnpm simulate --mutations [name…]`: how many schedules it takes to find each fault whose
// mend is taken out. The seed is told before anything runs. Exit code 0 only if every schedule holds; with
// `--mutations`, if each is found.
import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { explain, explore, type Explored, type Failure } from '../test/simulation/explore.ts'
import { simMutations } from '../test/simulation/mutations.ts'
import { runSchedule } from '../test/simulation/run.ts'
import { scenarioOf } from '../test/simulation/scenario.ts'
import { exploreApart } from '../test/simulation/explore-apart.ts'
import { table } from './lib/table.ts'

const say = (text: string): boolean => process.stdout.write(`${text}\n`)
const { values, positionals } = parseArgs({
  options: {
    schedules: { type: 'string', default: '10000' },
    seed: { type: 'string' },
    minutes: { type: 'string', default: '60' },
    show: { type: 'boolean', default: false },
    mutations: { type: 'boolean', default: false },
    /** For a mutant: one line, as JSON. */
    brief: { type: 'boolean', default: false },
  },
  allowPositionals: true,
})
const from = Number(values.seed ?? randomInt(2 ** 31 - 1))
const schedules = Number(values.schedules)
const minutes = Number(values.minutes)
if (![from, schedules].every(Number.isSafeInteger) || !(minutes > 0)) {
  process.stderr.write('--seed and --schedules are whole numbers, --minutes is a positive one.\n')
  process.exit(2)
}

const stop = new AbortController()
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(name, () => stop.abort(new Error(`stopped by ${name}`)))

if (values.mutations) process.exitCode = (await findMutations()) ? 0 : 1
else if (values.brief) say(JSON.stringify(await explore({ from, schedules, msMax: minutes * 60_000 })))
else if (values.show) await show()
else await soak()

async function soak(): Promise<void> {
  say(`seed ${from}, ${schedules.toLocaleString('en')} schedules, at most ${minutes} minutes`)
  const since = performance.now()
  const line = ({ schedules: count, steps, virtualMs, zombies, failures }: Explored): string =>
    `${count.toLocaleString('en')} schedules, ${steps.toLocaleString('en')} events, ${Math.round(virtualMs / 3_600_000).toLocaleString('en')} h of virtual time, ` +
    `${zombies} acts of daemons that had lost their task, ${failures.length} failures, ${((performance.now() - since) / 1000).toFixed(0)} s`
  const onFailure = ({ seed, violations }: Failure): void =>
    void say(`FAILED: seed ${seed} breaks a rule: ${violations[0]?.rule}`)
  const explored = await explore({
    from,
    schedules,
    msMax: minutes * 60_000,
    failuresMax: 5,
    onProgress: (soFar) => void say(line(soFar)),
    onFailure,
    signal: stop.signal,
  })
  for (const failure of explored.failures)
    say(`\n${await explain(failure)}\nAgain: pnpm simulate --seed ${failure.seed} --show`)
  say(`\n${line(explored)}`)
  if (stop.signal.aborted) say('Stopped before its end.')
  process.exitCode = explored.failures.length === 0 && !stop.signal.aborted ? 0 : 1
}

async function show(): Promise<void> {
  const { violations, trace } = await runSchedule(scenarioOf(from), { tracing: true })
  say(violations.length > 0 ? await explain({ seed: from, violations }) : trace.join('\n'))
  process.exitCode = violations.length === 0 ? 0 : 1
}

async function findMutations(): Promise<boolean> {
  const chosen = simMutations.filter(({ name }) => positionals.length === 0 || positionals.includes(name))
  const rows: string[][] = []
  for (const { name, issue, fault } of chosen) {
    const explored = await exploreApart({ from, schedules, without: name, signal: stop.signal })
    const [failure] = explored.failures
    const found = failure === undefined ? 'NOT FOUND' : (failure.violations[0]?.rule ?? '')
    rows.push([
      name,
      issue === null ? '' : String(issue),
      fault,
      String(explored.schedules),
      failure === undefined ? '' : String(failure.seed),
      found,
    ])
    say(rows.at(-1)?.join(' | ') ?? '')
  }
  say(
    `\n${table(['TAKEN OUT', 'OF 13', 'WHAT COMES BACK', 'SCHEDULES', 'SEED', 'BREAKS'], rows, [3, 4]).join('\n')}`,
  )
  return rows.every(([, , , , seed]) => seed !== '')
}
