#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A worker for check_peers.py whose library is not there."""
print('missing the library of this worker')
