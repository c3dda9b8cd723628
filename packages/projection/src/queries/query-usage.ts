// `usage`: what calls of models used, by day, by user, by tenant or by model. The sums come from
// `usage_by_day`, so an answer reads as many rows as there are days, users and models, however many tasks
// there are.
import type { ModelUsage, QueryOutput, QueryRead, UsageGroup } from '@beaver/contracts'
import { page } from './page.ts'
import type { Query } from './query.ts'
import type { Sql, SqlValue } from '../store/sql.ts'
import { boundedUsage, summedColumns, sumOfUsage } from './usage.ts'

const usualDays = 30
const dayMs = 86_400_000

const columnOf = { day: 'day', user: 'user_id', tenant: 'tenant', model: 'model' } as const satisfies Record<
  UsageGroup,
  string
>

export const usage: Query<'usage'> = (sql, input, { now }) => {
  const until = input.until ?? dayOf(now())
  const since = input.since ?? dayBefore(until, usualDays)
  const used = usedBy(sql, input, within(input, since, until))
  const groups = [...Map.groupBy(used, ({ key }) => key)].map(([key, rows]) => ({
    key: key === '' ? null : key,
    ...summed(rows),
  }))
  groups.sort(input.by === 'day' ? newestFirst : mostFirst)
  const { items, more } = page(groups, input.limit, { item: (each) => each, cursor: () => 0 })
  return { since, until, total: summed(byModel(used)), groups: items, more }
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

type KeyedUsage = Omit<ModelUsage, 'since'> & { readonly key: string; readonly since: string | null }

/**
 * The usage of each model by key. SQLite sums over the users first, in the order of the table, so that it
 * need not sort the rows of all users.
 */
function usedBy(
  sql: Sql,
  { by, split_at: days = [] }: QueryRead<'usage'>,
  [where, values]: readonly [string, readonly SqlValue[]],
): KeyedUsage[] {
  const rows = `usage_by_day ${where}`
  const from =
    by === 'user'
      ? rows
      : `(select day, tenant, provider, model, ${summedColumns} from ${rows} group by day, tenant, provider, model)`
  const period = days.length === 0 ? 'null' : '(select max(value) from json_each(?) where value <= day)'
  const text = `select ${columnOf[by]} as key, provider, model, ${period} as since, ${summedColumns} from ${from} group by 1, provider, model, 4 order by total(input_tokens) desc, provider, model, 4`
  return sql.all<KeyedUsage>(text, [...(days.length === 0 ? [] : [JSON.stringify(days)]), ...values])
}

/** The usage of each model, with the keys together. */
function byModel(used: readonly KeyedUsage[]): Omit<KeyedUsage, 'key'>[] {
  const models = Map.groupBy(used, ({ provider, model, since }) => JSON.stringify([provider, model, since]))
  return [...models.values()]
    .map((rows) => ({
      provider: rows[0]?.provider ?? null,
      model: rows[0]?.model ?? null,
      since: rows[0]?.since ?? null,
      ...sumOfUsage(rows),
    }))
    .toSorted(
      (one, other) =>
        other.input_tokens - one.input_tokens ||
        before(one.provider, other.provider) ||
        before(one.model, other.model),
    )
}

const summed = (rows: readonly Omit<KeyedUsage, 'key'>[]): QueryOutput<'usage'>['total'] => ({
  ...sumOfUsage(rows),
  usage_by_model: boundedUsage(rows),
})
