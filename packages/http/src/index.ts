export {
  type Access,
  type Caller,
  hasEnded,
  type KeptToken,
  reachOf,
  type TokenRole,
  tokenAccess,
  tokenHash,
} from './access.ts'
export { type AnsweredRequest, type AppOptions, type Behind, createApp, type HttpApp } from './app.ts'
export { type ChannelIntake } from './channel-routes.ts'
export { type HostedService, type NamedTask } from './host.ts'
export { type Logins } from './login-routes.ts'
export { HttpProblem, type ProblemDetails, problemOf } from './problem.ts'
export { type StoredToken, TokenStore } from './token-store.ts'
