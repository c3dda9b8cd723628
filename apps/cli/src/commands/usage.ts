// `beaver usage`: shows what model calls used and cost, by day, user, tenant, model, workflow or skill.
import type { UsageAnswer, UsageGroup } from '@beaver/contracts'
import type { CallPrices } from '@beaver/core/cost'
import { pricesOf } from '@beaver/platform'
import type { GlobalOptions } from '../context.ts'
import { costCell, costOfAll, costText, partsText, shareText } from '../text/cost.ts'
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

export function usage(
  { by = 'day', since, until, user, limit, json }: UsageOptions,
  globals: GlobalOptions,
): Promise<number> {
  return asking(globals, async ({ screen, config }, connection) => {
    const prices = pricesOf(config)
    const asked = { since: dayIn(since, '--since'), until: dayIn(until, '--until') }
    const answer = await ask(connection, 'usage', {
      by,
      ...asked,
      user_id: user,
      limit,
      split_at: priceDays(prices),
    })
    if (json === true) return screen.json(answer)
    const { total, groups, more } = answer
    const days = `from ${answer.since} to ${answer.until} (UTC)`
    if (total.calls === 0) return screen.print(`No calls of models ${days}.`)
    screen.print(...usageTable(answer, by, { columns: screen.columns, title: screen.style.dim, prices }))
    const cost = costText(costOfAll(total.usage_by_model, prices, answer.since))
    const parts = partsText(total)
    const tokens = `${count(total.input_tokens)} tokens in, ${count(total.output_tokens)} out${parts === '' ? '' : ` (${parts})`}`
    screen.print(
      '',
      `In all ${days}: ${count(total.calls)} calls, ${tokens}${cost === '' ? '' : `, ${cost}`}.`,
    )
    if (more)
      screen.print(
        screen.style.dim(
          `There are more than these ${groups.length}. Show more of them with --limit, up to 1000.`,
        ),
      )
  })
}

const priceDaysMax = 100

/** The days on which a price changes. The answer must count the tokens of each period separately. */
function priceDays({ imported = {} }: CallPrices): string[] | undefined {
  const days = new Set(Object.values(imported).flatMap((prices) => prices.map(({ from }) => from)))
  return days.size === 0 ? undefined : [...days].toSorted().slice(-priceDaysMax)
}

/**
 * Reads a day.
 *
 * @throws {UsageError}
 */
const dayIn = (text: string | undefined, option: string): string | undefined =>
  text === undefined ? undefined : sinceWhen(text, Date.now(), option).slice(0, 'YYYY-MM-DD'.length)

const titles = {
  day: 'DAY',
  user: 'USER',
  tenant: 'TENANT',
  model: 'MODEL',
  workflow: 'WORKFLOW',
  skill: 'SKILLS',
} as const satisfies Record<UsageGroup, string>

/** What is in the place of the name of a group without one. */
const nameless = (by: UsageGroup): string => (by === 'model' ? '(no name)' : `(no ${by})`)

interface Place {
  /** The columns of the terminal. */
  readonly columns: number
  readonly title?: (text: string) => string
  readonly prices: CallPrices
}

/** The table of usage. A narrow terminal shows the cost, and other columns if there is room. */
export function usageTable(
  { groups, since }: Pick<UsageAnswer, 'groups'> & Partial<Pick<UsageAnswer, 'since'>>,
  by: UsageGroup,
  { columns, title = (text) => text, prices }: Place,
): string[] {
  type Group = UsageAnswer['groups'][number]
  const keyMax = Math.min(100, Math.max(12, Math.floor(columns / 2)))
  const dayOf = ({ key }: Group): string | null => (by === 'day' ? key : (since ?? null))
  const models = (used: Group['usage_by_model']): string =>
    [...new Set(used.map(({ model }) => oneLine(model ?? 'others', 60)))].join(', ')
  const any = (part: 'cached_input_tokens' | 'reasoning_tokens'): boolean =>
    groups.some((group) => (group[part] ?? 0) > 0)
  return table<Group>(
    [
      {
        title: titles[by],
        cell: ({ key }) => (key === null ? nameless(by) : cutToWidth(oneLine(key), keyMax)),
      },
      { title: 'CALLS', cell: ({ calls }) => count(calls), align: 'right', optional: 3 },
      { title: 'TOKENS IN', cell: ({ input_tokens: tokens }) => count(tokens), align: 'right', optional: 1 },
      ...(any('cached_input_tokens')
        ? [
            {
              title: 'CACHED',
              cell: ({ cached_input_tokens: part = 0, input_tokens: all }: Group) => shareText(part, all),
              align: 'right' as const,
              optional: 3,
            },
          ]
        : []),
      {
        title: 'TOKENS OUT',
        cell: ({ output_tokens: tokens }) => count(tokens),
        align: 'right',
        optional: 2,
      },
      ...(any('reasoning_tokens')
        ? [
            {
              title: 'THOUGHTS',
              cell: ({ reasoning_tokens: part = 0 }: Group) => count(part),
              align: 'right' as const,
              optional: 4,
            },
          ]
        : []),
      {
        title: 'COST',
        cell: (group) => costCell(costOfAll(group.usage_by_model, prices, dayOf(group))),
        align: 'right',
      },
      ...(by === 'model'
        ? []
        : [
            {
              title: 'MODELS',
              cell: ({ usage_by_model: used }: Group) => models(used),
              flexible: true as const,
              optional: 4,
            },
          ]),
    ],
    groups,
    { width: columns, title },
  )
}
