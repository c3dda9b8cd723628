// bench budgets: two daemons that are killed again and again spend the budget of one user, with more calls at
// once than it pays for. Each round has three books: what the provider was paid, what the logs of the tasks
// say, and the account that the tasks share. Exit code 1: a book has more than the cap, something stays
// reserved, the logs and the account differ, or a run failed for another reason than its budget.
import { cpus } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Account, accountTotals, newSpend, spendEvent } from '@beaver/core/budget'
import { isTerminalTaskEvent } from '@beaver/core'
import { exactCostAt, usdOf } from '@beaver/core/cost'
import type { RecordedEvent } from '@beaver/core/journal'
import { natsBudgetAccounts } from '@beaver/nats'
import { until } from '@beaver/testing'
import { type Random, randomOf } from '../../test/faults/random.ts'
import type { DaemonProcess } from '../../test/support/daemon.ts'
import type { FakeReply, SeenRequest } from '../../test/support/fake-provider.ts'
import { ownServer } from '../../test/support/nats.ts'
import { testSystem, type TestSystem } from '../../test/support/system.ts'

const rounds = Number(process.env['BENCH_ROUNDS'] ?? 3)
const firstSeed = Number(process.env['BENCH_SEED'] ?? 1)
const tasks = 25
const nodes = 8
/** About how many calls an agent makes before it is done, and the most. */
const turns = 4
const turnsMax = 12
const killsMax = 6
const killEveryMs = [100, 400] as const
const answerMs = [5, 50] as const
const model = 'fake-model'
/** In USD for a million tokens. */
const price = { input: 1, output: 10 }
/** How long the answers of a round may be. */
const answerTokensMax = [500, 1_000, 2_000, 4_000]
const endedMsMax = 180_000
const closedMsMax = 60_000

/** Amounts are in USD. */
interface Round {
  readonly seed: number
  readonly calls: number
  readonly cap: number
  readonly paid: number
  /** What the logs say was used. A call that was lost with a daemon counts with what was reserved for it. */
  readonly logs: number
  readonly account: number
  /** What stays reserved, in the logs and in the account. */
  readonly left: number
  /** The tasks that still have an entry in the account. */
  readonly open: number
  /** What the largest of the books has above the cap. */
  readonly overspent: number
  readonly kills: number
  readonly completed: number
  /** Tasks that the budget ended before they were complete. */
  readonly ended: number
  /** Runs that failed for another reason than the budget. */
  readonly failed: number
  readonly seconds: number
}

export async function run({ json }: { readonly json: boolean }): Promise<void> {
  const all: Round[] = []
  if (!json) process.stdout.write(heading)
  for (let seed = firstSeed; seed < firstSeed + rounds; seed++) {
    const round = await oneRound(seed)
    all.push(round)
    if (!json) process.stdout.write(rowOf(round))
    if (!isRight(round)) process.exitCode = 1
  }
  if (json)
    process.stdout.write(
      `${JSON.stringify({ bench: 'budgets', figures: { rounds: all }, ratios: {}, sync: 'always' })}\n`,
    )
}

async function oneRound(seed: number): Promise<Round> {
  const since = Date.now()
  const answerTokens = randomOf(seed, 'answers').pick(answerTokensMax)
  const cap = capFor(answerTokens)
  await using server = await ownServer()
  await using system = await testSystem(server, {
    budgets: [{ of: 'user', per: 'day', usd: cap, exceeded: 'end' }, { of: 'task' }],
    model: { name: model, settings: { output_tokens_max: answerTokens } },
    prices: { [model]: price },
  })
  const account = await accountOf(system)
  const paid = payFrom(system, randomOf(seed, 'provider'))
  const daemons = [await system.daemon(), await system.daemon()]
  const ids = await Promise.all(Array.from({ length: tasks }, () => submitTeam(system)))
  const killing = killAgain(system, daemons, randomOf(seed, 'kills'))
  const logs = await Promise.all(ids.map((id) => logOf(system, id)))
  const kills = await killing.stop()
  // An entry is closed after the end of the log, by the next owner if the last one died between.
  await until('no task is open', async () => (await account()).tasks.size === 0, {
    withinMs: closedMsMax,
  }).catch(() => {})
  const inLogs = spentIn(logs)
  const inAccount = accountTotals(await account())
  const books = [usdOf(paid.usd), usdOf(inLogs.used), usdOf(inAccount.used.usd)] as const
  const completed = logs.filter((log) => log.some(({ type }) => type === 'task_completed')).length
  return {
    ...{ seed, calls: paid.calls, cap, paid: books[0], logs: books[1], account: books[2] },
    ...{ left: usdOf(inLogs.reserved + inAccount.reserved.usd), open: (await account()).tasks.size },
    ...{ overspent: Math.max(0, Math.max(...books) - cap), kills, completed, ended: tasks - completed },
    failed: logs.flat().filter(isOtherFailure).length,
    seconds: Math.round((Date.now() - since) / 1_000),
  }
}

/** It pays for a third of the calls that are wanted: each agent makes `turns`, with an input of 1,500 tokens. */
const capFor = (answerTokens: number): number =>
  Math.round(
    ((tasks * nodes * turns) / 3) *
      usdOf(exactCostAt(price, { input_tokens: 1_500, output_tokens: answerTokens / 2, calls: 1 }) ?? 0n) *
      100,
  ) / 100

const isRight = ({ overspent, left, open, logs, account, failed }: Round): boolean =>
  overspent === 0 && left === 0 && open === 0 && logs === account && failed === 0

const isOtherFailure = (each: RecordedEvent): boolean =>
  each.type === 'run_failed' && each.data.failure.class !== 'budget_exceeded'

const user = 'ann'

async function submitTeam({ client }: TestSystem): Promise<string> {
  const agents = Array.from({ length: nodes }, (_, i) => ({
    name: `agent ${i}`,
    instruction: `Do part ${i}.`,
  }))
  const workflow = { name: 'ConcurrentWorkflow', arguments: { task: 'Spend.', agents } }
  return (await client.submit({ workflow, user_id: user })).task_id
}

/** The account of the user for today, as it is now. */
async function accountOf({ nc, subjects }: TestSystem): Promise<() => Promise<Account>> {
  const accounts = await natsBudgetAccounts(nc, subjects)
  const period = new Date().toISOString().slice(0, 10)
  const key = { tenant: subjects.tenant, of: 'user', name: user, period } as const
  return async () => (await accounts.read(key)).account
}

/** The log of a task that has ended. */
async function logOf({ client }: TestSystem, task: string): Promise<readonly RecordedEvent[]> {
  const all: RecordedEvent[] = []
  for await (const each of client.watch(task, { signal: AbortSignal.timeout(endedMsMax) })) all.push(each)
  if (all.some(({ type }) => isTerminalTaskEvent(type))) return all
  throw new Error(`The task ${task} has not ended within ${endedMsMax} ms.`)
}

/** What logs used, and what they leave reserved. */
function spentIn(logs: readonly (readonly RecordedEvent[])[]): { used: bigint; reserved: bigint } {
  const sum = { used: 0n, reserved: 0n }
  for (const log of logs) {
    const spend = newSpend()
    for (const each of log) spendEvent(spend, each, { atMs: Date.parse(each.time), priceFor: () => price })
    sum.used += spend.total.used.usd
    sum.reserved += spend.total.reserved.usd
  }
  return sum
}

/** A call is paid when it is asked, also if its answer is lost. */
function payFrom({ provider }: TestSystem, random: Random): { readonly calls: number; readonly usd: bigint } {
  const paid = { calls: 0, usd: 0n }
  provider.answerBy(async (request) => {
    const usage = {
      input_tokens: Math.ceil(request.body.length / 4),
      output_tokens: answerOf(request, random),
    }
    paid.calls++
    paid.usd += exactCostAt(price, { ...usage, calls: 1 }) ?? 0n
    await sleep(random.between(...answerMs))
    return reply(request, usage, request.results.length >= turnsMax - 1 || random.next() < 1 / turns)
  })
  return paid
}

function answerOf({ body }: SeenRequest, random: Random): number {
  const asked = JSON.parse(body) as { max_tokens?: number; max_completion_tokens?: number }
  return random.between(1, asked.max_tokens ?? asked.max_completion_tokens ?? 4_000)
}

/** @param isLast whether the agent is done. If not, it calls a tool */
function reply(
  { number }: SeenRequest,
  { input_tokens, output_tokens }: { input_tokens: number; output_tokens: number },
  isLast: boolean,
): FakeReply {
  const call = {
    ...{ id: `call_${number}`, type: 'function' },
    function: { name: 'echo', arguments: JSON.stringify({ text: `${number}` }) },
  }
  const message = isLast ? { content: 'Done.' } : { content: null, tool_calls: [call] }
  const choice = { index: 0, finish_reason: isLast ? 'stop' : 'tool_calls' }
  return {
    body: JSON.stringify({
      ...{ id: `answer-${number}`, object: 'chat.completion', model },
      choices: [{ ...choice, message: { role: 'assistant', ...message } }],
      usage: {
        prompt_tokens: input_tokens,
        completion_tokens: output_tokens,
        total_tokens: input_tokens + output_tokens,
      },
    }),
  }
}

/** Kills one of the daemons after the other, and starts a new one in its place. */
function killAgain(
  system: TestSystem,
  daemons: (DaemonProcess | null)[],
  random: Random,
): { stop(): Promise<number> } {
  const stopped = new AbortController()
  const starting: Promise<void>[] = []
  const killing = (async () => {
    while (starting.length < killsMax) {
      await sleep(random.between(...killEveryMs), undefined, { signal: stopped.signal })
      const place = random.between(0, daemons.length - 1)
      const daemon = daemons[place] ?? null
      if (daemon === null) continue
      daemons[place] = null
      daemon.kill('SIGKILL')
      starting.push(system.daemon().then((next) => void (daemons[place] = next)))
    }
  })()
  return {
    async stop() {
      stopped.abort()
      await killing.catch(() => {})
      await Promise.all(starting)
      return starting.length
    },
  }
}

const columns: readonly (readonly [title: string, cell: (round: Round) => string])[] = [
  ['seed', ({ seed }) => `${seed}`],
  ['calls', ({ calls }) => `${calls}`],
  ['cap USD', ({ cap }) => cap.toFixed(2)],
  ['paid', ({ paid }) => paid.toFixed(6)],
  ['in the logs', ({ logs }) => logs.toFixed(6)],
  ['in the account', ({ account }) => account.toFixed(6)],
  ['left', ({ left }) => left.toFixed(6)],
  ['open', ({ open }) => `${open}`],
  ['overspent', ({ overspent }) => overspent.toFixed(6)],
  ['kills', ({ kills }) => `${kills}`],
  ['completed', ({ completed }) => `${completed}`],
  ['ended', ({ ended }) => `${ended}`],
  ['failed', ({ failed }) => `${failed}`],
  ['s', ({ seconds }) => `${seconds}`],
]
const line = (cells: readonly string[]): string =>
  `${cells.map((cell, i) => cell.padStart(Math.max(9, (columns[i]?.[0].length ?? 0) + 2))).join('')}\n`
const rowOf = (round: Round): string => line(columns.map(([, cell]) => cell(round)))
const heading = [
  '',
  `${tasks} tasks of one user, each a team of ${nodes}, on 2 daemons with ${killsMax} kills; ${cpus().length} × ${cpus()[0]?.model.trim()}; Node.js ${process.version}`,
  '',
  line(columns.map(([title]) => title)),
].join('\n')
