export { runAsChild, type StartedChild } from './lifeline.ts'
export { scheduleAsBatch } from './scheduling.ts'
export { stderrLogger, type StderrLoggerOptions } from './stderr-logger.ts'
