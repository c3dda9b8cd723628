export { startSupervisor, type Supervisor, type SupervisorParts } from './supervisor.ts'
