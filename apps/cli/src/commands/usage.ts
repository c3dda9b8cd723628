// `beaver usage`: shows what model calls used and cost, by day, user, tenant, model, workflow,
// skill or profile.
import type { UsageAnswer, UsageGroup } from '@beaver/contracts'
import type { GlobalOptions } from '../context.ts'
import { costCell, costOf, costText, partsText, shareText } from '../text/cost.ts'
import { count } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import { table } from '../text/table.ts'
import { cutToWidth } from '../text/width.ts'
import { ask, asking } from './query.ts'
import { mustSpan } from './since-when.ts'

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
  mustSpan({ since: dayOf(since), until: dayOf(until) }, { isWholeDays: true })
  return asking(globals, async ({ screen }, connection) => {
    const asked = { since: dayOf(since), until: dayOf(until) }
    const answer = await ask(connection, 'usage', {
      by,
      ...asked,
      user_id: user,
      limit,
    })
    if (json === true) return screen.json(answer)
    const { total, groups, more } = answer
    const days = `from ${answer.since} to ${answer.until} (UTC)`
    if (total.calls === 0) return screen.print(`No calls of models ${days}.`)
    screen.print(...usageTable(answer, by, { columns: screen.columns, title: screen.style.dim }))
    const cost = costText(costOf(total))
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

const dayOf = (time: string | undefined): string | undefined => time?.slice(0, 'YYYY-MM-DD'.length)

const titles = {
  day: 'DAY',
  user: 'USER',
  tenant: 'TENANT',
  model: 'MODEL',
  workflow: 'WORKFLOW',
  skill: 'SKILLS',
  profile: 'PROFILE',
} as const satisfies Record<UsageGroup, string>

/** What is in the place of the name of a group without one. */
const nameless = (by: UsageGroup): string =>
  by === 'model' ? '(no name)' : by === 'profile' ? '(default profile)' : `(no ${by})`

interface Place {
  /** The columns of the terminal. */
  readonly columns: number
  readonly title?: (text: string) => string
}

/** The table of usage. A narrow terminal shows the cost, and other columns if there is room. */
export function usageTable(
  { groups }: Pick<UsageAnswer, 'groups'>,
  by: UsageGroup,
  { columns, title = (text) => text }: Place,
): string[] {
  type Group = UsageAnswer['groups'][number]
  const keyMax = Math.min(100, Math.max(12, Math.floor(columns / 2)))
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
        cell: (group) => costCell(costOf(group)),
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
