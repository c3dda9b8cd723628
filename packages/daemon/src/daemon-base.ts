// What a daemon opens before it has threads: its connection, agents, model, stores and sweep. Everything is
// also deferred in `undo`, so a failed start leaves nothing behind. The sweep starts first, to wake a dead
// daemon's tasks as soon as the queue is open, while this daemon still loads its agents and starts its
// threads.
import type { ExternalTools } from '@beaver/agent'
import { type Clock, type Ids, type Logger, steadyClock, ulidIds } from '@beaver/core'
import { protectSecrets } from '@beaver/core/secrets'
import {
  callerName,
  connectNats,
  natsOpenTasks,
  natsPeers,
  type NatsPeers,
  openInCluster,
  roleLogin,
  type Subjects,
  subjectsOf,
  watchConnection,
} from '@beaver/nats'
import { type Config, configuredBudgets } from '@beaver/platform'
import { type BudgetRules, type DrivenTasks, startSweep } from '@beaver/runtime'
import { teamPatterns } from '@beaver/team-patterns'
import { addWorkflows } from '@beaver/workflows'
import type { NatsConnection } from '@nats-io/nats-core'
import { type Agents, loadAgents } from './agents.ts'
import { chooseModel, type ChosenModel } from './model.ts'
import type { OwnModels } from './own-models.ts'
import { openStores, type Stores } from './stores.ts'

export interface DaemonBase {
  readonly config: Config
  readonly logger: Logger
  readonly clock: Clock
  readonly ids: Ids
  readonly daemonId: string
  readonly nc: NatsConnection
  readonly subjects: Subjects
  readonly agents: Agents
  readonly model: ChosenModel
  readonly budgets: BudgetRules
  readonly stores: Stores
  readonly peers: NatsPeers
  readonly sweep: ReturnType<typeof startSweep>
  /**
   * The tasks that this daemon drives, by the keys of their logs. The daemon fills it; the sweep reads it.
   */
  readonly tasks: DrivenTasks
  /** Call it after the daemon's last write. */
  forgetSecrets(): void
}

/** @throws {BeaverError} the errors of the configuration, of the model and of the connection */
export async function openBase(
  config: Config,
  natsUrl: string,
  {
    embedded,
    models,
    logger,
  }: { readonly embedded: ExternalTools | null; readonly models: OwnModels; readonly logger: Logger },
  undo: AsyncDisposableStack,
): Promise<DaemonBase> {
  addWorkflows(teamPatterns)
  const budgets = configuredBudgets(config)
  const forgetSecrets = protectSecrets(config.secrets)
  undo.defer(forgetSecrets)
  const ids = ulidIds()
  const clock = steadyClock
  const daemonId = ids.next('daemon')
  const login = roleLogin(config.natsLogin, 'daemon')
  const subjects = subjectsOf(config.namespace, { tenant: config.tenant, caller: callerName(natsUrl, login) })
  const nc = await connectNats({ url: natsUrl, login, name: `beaver-daemon ${daemonId}` })
  undo.defer(() => nc.close())
  watchConnection(nc, logger, subjects.stream)
  const peers = natsPeers(nc, subjects, logger)
  const tasks: DrivenTasks = new Map()
  const { tenant } = config
  const openTasks = natsOpenTasks(nc, subjects)
  const opening = openInCluster(
    nc,
    () => opened(undo, (own) => openStores(nc, subjects, config, { clock, logger, undo: own })),
    { logger, clock },
  )
  const queue: Pick<Stores['queue'], 'wake'> = {
    wake: async (log, wake) => (await opening).queue.wake(log, wake),
  }
  const sweep = startSweep({
    openTasks,
    peers,
    queue,
    clock,
    logger,
    tenant,
    daemonId,
    drives: (key) => tasks.has(key),
  })
  undo.defer(() => sweep.stop())
  const stores = await opening
  const agents = await loadAgents(config, embedded, logger)
  undo.defer(async () => agents.close())
  const model = await chooseModel(config, { logger, own: models })
  undo.defer(() => model.close())
  return {
    config,
    logger,
    clock,
    ids,
    daemonId,
    nc,
    subjects,
    agents,
    model,
    budgets,
    stores,
    peers,
    sweep,
    tasks,
    forgetSecrets,
  }
}

/** Opens something and registers its close with `undo`. */
async function opened<Opened>(
  undo: AsyncDisposableStack,
  open: (own: AsyncDisposableStack) => Promise<Opened>,
): Promise<Opened> {
  await using own = new AsyncDisposableStack()
  const it = await open(own)
  undo.use(own.move())
  return it
}
