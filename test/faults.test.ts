// The short form of the fault campaign: a few faults of the kinds that matter most, then every rule. `pnpm test:faults` is the long form.
import { expect, it } from 'vitest'
import { runCampaign } from './faults/campaign.ts'
import { longCampaign } from './faults/plan.ts'
import { reportOf, reportText } from './faults/report.ts'

const seed = Number(process.env['BEAVER_FAULTS_SEED'] ?? Date.now() % 1_000_000)

it(`daemons that die, freeze and drain, and lines that fall silent, leave every task ended once and no rule broken (seed ${seed})`, async () => {
  const report = reportOf(
    await runCampaign(
      {
        ...longCampaign,
        seed,
        daemons: 2,
        kills: 1,
        tasksMin: 10,
        ms: 10_000,
        leaseMs: 1_000,
        pauseMs: [100, 400],
        clients: 3,
        openTasksMax: 12,
        settleMs: 30_000,
        only: ['daemon_kill', 'daemon_freeze', 'daemon_term', 'link_resets', 'projector_kill', 'nats_kill'],
      },
      () => {},
    ),
  )
  expect(report.tasks).toBeGreaterThan(0)
  expect(Object.keys(report.faults)).not.toEqual([])
  if (report.violations.length > 0) throw new Error(reportText({ ...report, replay: `BEAVER_FAULTS_SEED=${seed} npm test -- test/faults.test.ts` }))
}, 120_000)
