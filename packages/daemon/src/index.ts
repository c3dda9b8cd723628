export type { OwnModel, OwnModels } from './own-models.ts'
export { startDaemon, type Daemon, type DaemonParts } from './daemon.ts'
