# SPDX-License-Identifier: Apache-2.0
"""`karpenter-node-holder check --cluster` finds what is wrong with an
installation, and nothing where nothing is, with the rights of deploy/check."""
