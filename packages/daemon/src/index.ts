export type { OwnModel, OwnModels } from './own-models.ts'
export { startSupervisor, type Supervisor, type SupervisorParts } from './supervisor.ts'
