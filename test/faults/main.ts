// pnpm test:faults [--seed N] [--kills N | --minutes N] [--daemons N] [--only kind,kind] [--lease ms]
// [--fast] [--known] [--json] [--metrics FILE] Runs one fault campaign over real processes, or with `--known` every campaign
// that once found a fault. Exit code 1: violations.
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { runCampaign } from './campaign.ts'
import { type CampaignPlan, type FaultKind, faultKinds, fastPace, longCampaign } from './plan.ts'
import { reportOf, reportText } from './report.ts'
import { knownSeeds } from './seeds.ts'

const usage = `Usage: pnpm test:faults [--seed N] [--kills N] [--minutes N] [--daemons N] [--only kind,kind] [--lease ms] [--fast] [--known] [--json] [--metrics FILE]
  --kills N     ends after N kills of daemons; --minutes N after so long (default 1)
  --only        only these faults: ${faultKinds.join(', ')}
  --fast        faults follow each other quickly, and what has died is soon back: many kills in a short time
  --metrics     writes what the processes show at /metrics at the end to a file
  --known       the campaigns that once found a fault, one after the other
`

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    kills: { type: 'string' },
    minutes: { type: 'string' },
    daemons: { type: 'string' },
    only: { type: 'string' },
    lease: { type: 'string' },
    fast: { type: 'boolean', default: false },
    known: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    metrics: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  process.stdout.write(usage)
  process.exit(0)
}

const whole = (name: string, text: string | undefined): number | undefined => {
  if (text === undefined) return undefined
  const number = Number(text)
  if (Number.isFinite(number) && number > 0) return number
  process.stderr.write(`--${name} must be a number above 0.\n${usage}`)
  process.exit(2)
}
const only = values.only?.split(',').map((kind) => {
  if ((faultKinds as readonly string[]).includes(kind)) return kind as FaultKind
  process.stderr.write(`There is no fault ${JSON.stringify(kind)}.\n${usage}`)
  process.exit(2)
})

/** A campaign with `kills` may take as long as it needs, within a bound: two seconds a kill. */
function planOf(of: {
  seed: number
  kills?: number | undefined
  minutes?: number | undefined
  daemons?: number | undefined
  lease?: number | undefined
  only?: readonly FaultKind[] | undefined
}): CampaignPlan {
  const { seed, kills, minutes, daemons = longCampaign.daemons } = of
  const ms =
    minutes !== undefined ? minutes * 60_000 : kills !== undefined ? kills * 6_000 + 60_000 : longCampaign.ms
  const leaseMs = whole('lease', values.lease) ?? of.lease ?? longCampaign.leaseMs
  return {
    ...longCampaign,
    ...(values.fast ? fastPace : {}),
    seed,
    daemons,
    ms,
    leaseMs,
    ...(kills === undefined ? {} : { kills }),
    ...(of.only === undefined ? {} : { only: of.only }),
  }
}

const plans = values.known
  ? knownSeeds.map(planOf)
  : [
      planOf({
        seed: whole('seed', values.seed) ?? Date.now() % 1_000_000,
        kills: whole('kills', values.kills),
        minutes: whole('minutes', values.minutes),
        daemons: whole('daemons', values.daemons),
        only,
      }),
    ]
let violations = 0
for (const plan of plans) {
  const result = await runCampaign(plan, (line) => process.stderr.write(`${line}\n`))
  const report = reportOf(result)
  if (values.metrics !== undefined) writeFileSync(values.metrics, result.metrics ?? '')
  violations += report.violations.length
  process.stdout.write(values.json ? `${JSON.stringify(report)}\n` : reportText(report))
}
process.exit(violations === 0 ? 0 : 1)
