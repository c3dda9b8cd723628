// `usage`: what calls of models used and cost, by day, user, tenant, model, workflow, skill or profile. The sums
// come from `usage_by_day`, so an answer reads as many rows as that has, however many tasks there are. A period
// ends where the query asks for it, and where a price changes, so that each row has one price.
import type { ModelUsage, QueryOutput, QueryRead, UsageGroup } from '@beaver/contracts'
import { page } from './page.ts'
import type { Query } from './query.ts'
import type { Sql, SqlValue } from '../store/sql.ts'
import { summedColumns, sumOfUsage, type UsedOfModel, usageView } from './usage.ts'

const usualDays = 30
const dayMs = 86_400_000

const columnOf = {
  day: 'day',
  user: 'user_id',
  tenant: 'tenant',
  model: 'model',
  workflow: 'workflow',
  skill: 'skill',
  profile: 'profile',
} as const satisfies Record<UsageGroup, string>

export const usage: Query<'usage'> = (sql, input, { now, prices }) => {
  const until = input.until ?? dayOf(now())
  const since = input.since ?? dayBefore(until, usualDays)
  const days = [...new Set([...(input.split_at ?? []), ...prices.days])]
  const split = days.filter((day) => day <= until).toSorted()
  const used = usedBy(sql, input.by, { split, within: within(input, since, until) }).map(
    ({ period, ...row }) => ({
      ...row,
      day: input.by === 'day' ? row.key : (period ?? since),
      since:
        input.split_at?.filter((day) => day <= (period ?? '')).reduce<string | null>(later, null) ?? null,
    }),
  )
  const priced = { prices, day: null }
  const groups = [...Map.groupBy(used, ({ key }) => key)].map(([key, rows]) => ({
    key: key === '' ? null : key,
    ...usageView(rows, priced),
  }))
  groups.sort(input.by === 'day' ? newestFirst : mostFirst)
  const { items, more } = page(groups, input.limit, { item: (each) => each, cursor: () => 0 })
  return { since, until, total: usageView(mostFirstOfModels(used), priced), groups: items, more }
}

type Group = QueryOutput<'usage'>['groups'][number]

const tokensOf = ({
  input_tokens,
  output_tokens,
}: Pick<ModelUsage, 'input_tokens' | 'output_tokens'>): number => input_tokens + output_tokens
const before = (one: string | null, other: string | null): number =>
  one === other ? 0 : (one ?? '') < (other ?? '') ? -1 : 1
const newestFirst = (one: Group, other: Group): number => before(other.key, one.key)
const mostFirst = (one: Group, other: Group): number =>
  tokensOf(other) - tokensOf(one) || before(one.key, other.key)

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 'YYYY-MM-DD'.length)

const firstDay = '0000-01-01'
/** No earlier than the first day that has four digits for its year. */
const dayBefore = (day: string, days: number): string =>
  dayOf(Math.max(Date.parse(day) - days * dayMs, Date.parse(firstDay)))

function within(
  { tenant, user_id: user }: QueryRead<'usage'>,
  since: string,
  until: string,
): readonly [where: string, values: readonly SqlValue[]] {
  const where = [
    'day >= ?',
    'day <= ?',
    ...(tenant === undefined ? [] : ['tenant = ?']),
    ...(user === undefined ? [] : ['user_id = ?']),
  ]
  return [
    `where ${where.join(' and ')}`,
    [since, until, ...(tenant === undefined ? [] : [tenant]), ...(user === undefined ? [] : [user ?? ''])],
  ]
}

/** `period`: the day on which the period begins; `null` before the first one. */
type KeyedUsage = UsedOfModel & { readonly key: string; readonly period: string | null }

/**
 * The usage of each model by key and period. SQLite sums over the users, workflows, skills and profiles first, in the
 * order of the table, so that it need not sort the rows of all users.
 */
function usedBy(
  sql: Sql,
  by: UsageGroup,
  {
    split,
    within: [where, values],
  }: { readonly split: readonly string[]; readonly within: readonly [string, readonly SqlValue[]] },
): KeyedUsage[] {
  const rows = `usage_by_day ${where}`
  const isInnermost = by === 'user' || by === 'workflow' || by === 'skill' || by === 'profile'
  const from = isInnermost
    ? rows
    : `(select day, tenant, provider, model, ${summedColumns} from ${rows} group by day, tenant, provider, model)`
  const period = split.length === 0 ? 'null' : '(select max(value) from json_each(?) where value <= day)'
  const text = `select ${columnOf[by]} as key, provider, model, ${period} as period, ${summedColumns} from ${from} group by 1, provider, model, 4 order by total(input_tokens) desc, provider, model, 4`
  return sql.all<KeyedUsage>(text, [...(split.length === 0 ? [] : [JSON.stringify(split)]), ...values])
}

const later = (one: string | null, other: string): string => (one !== null && one > other ? one : other)

/** The rows of the model with most tokens first. */
function mostFirstOfModels<Row extends UsedOfModel>(used: readonly Row[]): Row[] {
  const models = Map.groupBy(used, ({ provider, model, since }) => JSON.stringify([provider, model, since]))
  const inputOf = (rows: readonly Row[]): number => sumOfUsage(rows).input_tokens
  return [...models.values()]
    .toSorted(
      (one, other) =>
        inputOf(other) - inputOf(one) ||
        before(one[0]?.provider ?? null, other[0]?.provider ?? null) ||
        before(one[0]?.model ?? null, other[0]?.model ?? null),
    )
    .flat()
}
