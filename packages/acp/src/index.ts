export { type AcpServing, serveAcp } from './serve-acp.ts'
export type { AcpSettings } from './editor-sessions.ts'
export type { EditorSystem, Heard, SystemLink } from './editor-system.ts'
