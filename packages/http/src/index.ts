export { type Access, type Caller, type KeptToken, type Role, roles, tokenAccess, tokenHash } from './access.ts'
export { type AppOptions, type Behind, createApp, type HttpApp } from './app.ts'
export { type ProblemDetails } from './problem.ts'
