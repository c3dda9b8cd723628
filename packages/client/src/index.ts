export { type BeaverClient, clientOn, connectBeaver, type SubmittedTask, type SubmitTask, type TaskOutcome } from './beaver-client.ts'
