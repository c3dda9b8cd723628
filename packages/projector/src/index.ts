export { startProjector, type Projector } from './projector.ts'
