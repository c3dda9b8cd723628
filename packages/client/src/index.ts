export { type BeaverClient, clientOn, connectBeaver, type SubmittedTask, type SubmitTask } from './beaver-client.ts'
