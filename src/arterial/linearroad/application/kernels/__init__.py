"""The vectorised kernels of the Linear Road application: from state and the columns of whole seconds to answers."""
