export { runAsChild } from './lifeline.ts'
export { scheduleAsBatch } from './scheduling.ts'
