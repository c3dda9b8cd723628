// What the supervisor of a task needs from its daemon.
import type { BlobStore, Clock, DataOf, Ids, Logger, LogId } from '@beaver/core'
import type { Journal, TaskQueue } from '@beaver/core/journal'
import type { OutwardTrace, TraceContext } from '@beaver/core/trace'
import type { Skill } from '@beaver/agent'
import type { Workflow } from '@beaver/workflows'
import type { Admissions } from './admissions.ts'
import type { LoopServicePorts } from './loop-services.ts'
import type { PastTasks } from './past-tasks.ts'
import type { ArgumentsJudge } from './task-approvals.ts'
import type { AccountBook } from './account-lines.ts'
import type { ClaimPorts } from './claim-task.ts'
import type { BudgetRules } from './budget-rules.ts'
import type { TaskLogPorts } from './task-log.ts'
import type { TeamLimits } from './task-teams.ts'
import type { WorkerPool } from './worker/worker-pool.ts'

export interface TaskPorts
  extends LoopServicePorts, Pick<TaskLogPorts, 'onAppended'>, Pick<ClaimPorts, 'onTakenOver'> {
  readonly journal: Journal
  readonly blobs: BlobStore
  readonly queue: Pick<TaskQueue, 'wake' | 'wakeIn'>
  readonly clock: Clock
  readonly ids: Ids
  readonly pool: WorkerPool
  readonly logger: Logger
  readonly daemonId: string
  readonly source: string
  readonly limits: TaskLimits
  /** What may be spent. Absent: nothing is bounded, unless a request says so; then each model costs nothing. */
  readonly budgets?: BudgetRules
  /** The accounts of budgets that tasks share. Absent or `null`: no such budget may be configured. */
  readonly book?: AccountBook | null
  /** Called when a share of a budget is used. Absent: nobody hears of it. */
  readonly alert?: (log: LogId, data: DataOf<'budget_reached'>) => void
  /** Reserved turns of runs whose loops were dropped while they wait. */
  readonly admissions: Admissions
  /** The earlier tasks of sessions; shared by all tasks of the daemon. */
  readonly past: PastTasks
  /** The workflows a task may name. */
  readonly findWorkflow: (name: string) => Workflow | null
  /** What models and tools are told of the trace of a task; `null`: nothing. Absent: they are never told. */
  readonly traceOf?: (log: LogId, submitted: TraceContext | null) => OutwardTrace | null
  /** Judges arguments that a person changed. Default: nothing judges them before the call begins. */
  readonly judgeArguments?: ArgumentsJudge
  /** The skills of a workspace, which only its tasks have. Absent: no workspace has any. */
  readonly skillsIn?: (workspace: string) => Promise<readonly Skill[]>
}

export interface TaskLimits extends TeamLimits {
  readonly toolIterationsMax: number
  /** How many owners a task may lose in a row, without progress, before it is given up. */
  readonly ownersLostMax: number
  /** What to do with calls that need an approval, if the task does not say whether somebody can answer. */
  readonly unattended: 'wait' | 'refuse'
  readonly approvalWaitMsMax: number
}
