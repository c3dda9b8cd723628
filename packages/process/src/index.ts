export { runAsChild } from './lifeline.ts'
