/**
 * The name of the simulated model. It tells every reader of a journal or a report that no language model was
 * asked.
 */
export const simulatedModelName = 'beaver-simulated-1'
