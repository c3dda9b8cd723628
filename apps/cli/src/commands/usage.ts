// `beaver usage`: what calls of models used and cost, by day, by user or by tenant.
import type { UsageAnswer, UsageGroup } from '@beaver/contracts'
import type { GlobalOptions } from '../context.ts'
import { costCell, costOfAll, costText, type Prices } from '../text/cost.ts'
import { count } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import { table } from '../text/table.ts'
import { cutToWidth } from '../text/width.ts'
import { ask, asking } from './query.ts'
import { sinceWhen } from './since-when.ts'

interface UsageOptions {
  readonly by?: UsageGroup
  readonly since?: string
  readonly until?: string
  readonly user?: string
  readonly limit?: number
  readonly json?: true
}

export function usage({ by = 'day', since, until, user, limit, json }: UsageOptions, globals: GlobalOptions): Promise<number> {
  return asking(globals, async ({ screen, config }, connection) => {
    const answer = await ask(connection, 'usage', { by, since: dayIn(since, '--since'), until: dayIn(until, '--until'), user_id: user, limit })
    if (json === true) return screen.json(answer)
    const { total, groups, more } = answer
    const days = `from ${answer.since} to ${answer.until} (UTC)`
    if (total.calls === 0) return screen.print(`No calls of models ${days}.`)
    screen.print(...usageTable(answer, by, { columns: screen.columns, title: screen.style.dim, prices: config.prices }))
    const cost = costText(costOfAll(total.usage_by_model, config.prices))
    const tokens = `${count(total.input_tokens)} tokens in, ${count(total.output_tokens)} out`
    screen.print('', `In all ${days}: ${count(total.calls)} calls, ${tokens}${cost === '' ? '' : `, ${cost}`}.`)
    if (more) screen.print(screen.style.dim(`There are more than these ${groups.length}. Show more of them with --limit, up to 1000.`))
  })
}

/** @throws {UsageError} */
const dayIn = (text: string | undefined, option: string): string | undefined =>
  text === undefined ? undefined : sinceWhen(text, Date.now(), option).slice(0, 'YYYY-MM-DD'.length)

const titles = { day: 'DAY', user: 'USER', tenant: 'TENANT' } as const satisfies Record<UsageGroup, string>

interface Place {
  /** How wide the terminal is. */
  readonly columns: number
  readonly title?: (text: string) => string
  readonly prices: Prices
}

/** A narrow terminal shows the cost, and what else there is room for. */
export function usageTable({ groups }: Pick<UsageAnswer, 'groups'>, by: UsageGroup, { columns, title = (text) => text, prices }: Place): string[] {
  type Group = UsageAnswer['groups'][number]
  const keyMax = Math.min(100, Math.max(12, Math.floor(columns / 2)))
  return table<Group>(
    [
      { title: titles[by], cell: ({ key }) => (key === null ? '(no user)' : cutToWidth(oneLine(key), keyMax)) },
      { title: 'CALLS', cell: ({ calls }) => count(calls), align: 'right', optional: 3 },
      { title: 'TOKENS IN', cell: ({ input_tokens: tokens }) => count(tokens), align: 'right', optional: 1 },
      { title: 'TOKENS OUT', cell: ({ output_tokens: tokens }) => count(tokens), align: 'right', optional: 2 },
      { title: 'COST', cell: ({ usage_by_model: used }) => costCell(costOfAll(used, prices)), align: 'right' },
      { title: 'MODELS', cell: ({ usage_by_model: used }) => used.map(({ model }) => oneLine(model ?? 'others', 60)).join(', '), flexible: true, optional: 4 },
    ],
    groups,
    { width: columns, title },
  )
}
